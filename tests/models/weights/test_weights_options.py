"""``--weights`` of a run: random ones, a file brought by hand, and the registered file that is not here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.parts.random_weights import fill_randomly
from intrabench.models.weights.registry import sha256_of_path
from intrabench.results.parts import read_rows
from tests.conftest import Said

PLUGIN = str(Path(__file__).parents[1] / "tiny_network.py")
WORDS = ["-p", "points_slice:n=2", "-d", "phantom:shape=4x24x24,instances=2", "--plugin", PLUGIN]
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, Net
    import torch

    from tests.models.tiny_network import Net


def test_random_weights_are_marked_in_every_row_of_every_model(say: Callable[..., Said]) -> None:
    said = say("run", "-m", "tiny", "-m", "other", "-m", "random_walker", *WORDS, "--weights", "random")
    assert said.code == 0, said.err
    assert "tiny (random weights)" in said.out
    rows = read_rows(Path("intrabench-results"))
    without = rows.filter(model="random_walker")
    assert (len(without), set(without["weights_sha256"])) == (2, {""})
    rows = rows.filter(pl.col("model") != "random_walker")
    assert rows["model"].sort().to_list() == ["other"] * 2 + ["tiny"] * 2
    assert set(rows["weights"]) == {"random"}
    assert (set(rows["weights_sha256"]), set(rows["seen_in_training"])) == ({"random"}, {"no"})
    assert (rows["pred_voxels"] > 0).all()


def test_a_file_brought_by_hand_is_marked_by_its_sha256(say: Callable[..., Said]) -> None:
    network = Net()
    fill_randomly(network)
    torch.save(network.state_dict(), "mine.pth")
    sha256 = sha256_of_path(Path("mine.pth"))
    said = say("run", "-m", "tiny", *WORDS, "--weights", "mine.pth")
    assert said.code == 0, said.err
    rows = read_rows(Path("intrabench-results"))
    assert set(rows.select("model", "weights", "weights_sha256").rows()) == {("tiny", "file", sha256)}
    assert f"tiny (weights {sha256[:8]})" in said.out
    assert (set(rows["weights_sha256"]), set(rows["seen_in_training"])) == ({sha256}, {"unknown"})
    again = say("run", "-m", "tiny", *WORDS, "--weights", "random")
    assert "2 sessions\n" in again.err  # other weights, other sessions
    dice = [
        rows["dice"].to_list(),
        read_rows(Path("intrabench-results")).filter(weights_sha256="random")["dice"].to_list(),
    ]
    assert sorted(dice[0]) == sorted(dice[1])  # the file holds the random ones


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "tiny"],
        ["-m", "tiny", "-m", "other", "--weights", "mine.pth"],
        ["-m", "tiny", "--weights", "mine.pth"],
        ["-m", "tiny", "--weights", "none.pth"],
        ["-m", "tiny", "--weights", "./random"],
        ["-m", "box_fill", "--weights", "mine.pth"],
        ["-m", "tiny", "--weights", "random", "--dtype", "int8"],
    ],
    ids=" ".join,
)
def test_weights_that_cannot_be_had_are_told_before_anything_is_computed(
    say: Callable[..., Said], folder: Path, words: list[str], wording: SnapshotAssertion
) -> None:
    state = Net().state_dict()
    torch.save(
        {"image_encoder.weight": state["image_encoder.weight"], "image_encoder.bias": torch.zeros(3)}, "mine.pth"
    )
    said = say("run", *WORDS, *words)
    assert (said.code, said.out) == (2, "")
    assert said.err == wording
    assert said.err.count("\n") == 1
    assert not Path("intrabench-results").exists()
