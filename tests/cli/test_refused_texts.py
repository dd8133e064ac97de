"""Texts that become paths, repositories, weights or prompters: what means nothing is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.models.weights.hub import Repository
from intrabench.specs.values import fits, read
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")
RUN = ["run", "-m", "box_fill", "-p", "box_interp", "-d", "phantom:shape=8x24x24,instances=1"]


def there(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ([*RUN, "--out", ""], "--out"),
        ([*RUN, "--out="], "--out"),
        ([*RUN, "--weights", ""], "--weights"),
        ([*RUN, "--plugin", ""], "--plugin"),
        ([*RUN, "--python", ""], "--python"),
        (["report", "--out", ""], "--out"),
        (["rate", "design", "bundle", "--out", ""], "--out"),
        (["init", ""], "an argument"),
    ],
)
def test_empty_text_is_no_path(say: Callable[..., Said], words: list[str], option: str) -> None:
    said = say(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {option} is empty; give ")
    assert there(Path()) == []


def test_empty_text_may_be_another_option(say: Callable[..., Said]) -> None:
    assert say(*RUN, "--hand", "", "--stop", "", "--out", "out", "--dry-run").code == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: intrabench.run("box_fill", "box_interp", "phantom", out=""),
        lambda: intrabench.run("box_fill", "box_interp", "phantom", plugin=[""]),
        lambda: intrabench.run("box_fill", "box_interp", "phantom", weights=""),
        lambda: intrabench.table(out=""),
        lambda: intrabench.merge([""], "merged"),
    ],
)
def test_nor_is_it_one_in_python(call: Callable[[], object], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        call()
    assert caught == wording


def test_nor_in_a_run_file_nor_in_a_spec(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("run.toml").write_text('weights = ""\n')
    said = say(*RUN, "--config", "run.toml")
    assert (said.code, said.err) == (2, wording)
    with pytest.raises(IntraBenchError, match="takes a path"):
        read(Path, "", "file", "own:file=")
    assert not fits(Path, "")


@pytest.mark.parametrize("repo", ["./nope", "../nope", "a--b/c", "-a/b", "org/" + "n" * 97, "a..b/c", "a/b.git"])
def test_what_the_hub_takes_for_no_name_is_a_folder(
    say: Callable[..., Said], repo: str, wording: SnapshotAssertion
) -> None:
    assert Repository(repo).is_folder
    said = say("run", "-m", f"hf:repo={repo}", *RUN[3:])
    assert said.code == 2
    assert said.err == wording


@pytest.mark.parametrize("repo", ["a/b", "facebook/sam2.1-hiera-tiny", "0a/_b", "o/n" + "n" * 95])
def test_names_of_the_hub(repo: str) -> None:
    assert not Repository(repo).is_folder


@pytest.mark.parametrize("spec", ["masks:folder=" + "a" * 300, "hf:repo=" + "a" * 5000, "hf:repo=~nobody-has-it/x"])
def test_paths_that_the_system_cannot_take(say: Callable[..., Said], spec: str) -> None:
    said = say("run", "-m", spec, *RUN[3:])
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) == 1
    with pytest.raises(IntraBenchError):
        intrabench.run(spec, "box_interp", "phantom")


def test_weights_of_models_that_have_none(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("own.pth").touch()
    for given in ("random", "own.pth"):
        said = say(*RUN, "--weights", given)
        assert said.code == 2
        assert said.err == wording


@pytest.mark.parametrize("words", [RUN, ["preview", *RUN[1:]], [*RUN, "--dry-run"]])
def test_a_person_is_no_simulated_user(say: Callable[..., Said], words: list[str]) -> None:
    said = say(*("human:rater=ab" if word == "box_interp" else word for word in words))
    assert said.code == 2
    assert "use `intrabench annotate`" in said.err
