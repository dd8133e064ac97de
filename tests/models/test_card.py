"""Models have names for people, from one declaration: in tables, reports, figures, methods and boards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.models.card import FILE, ModelCard, card_from, card_of
from intrabench.registry import registry
from intrabench.reporting.page.credits import of_models
from intrabench.results import model_cards
from intrabench.results.model_cards import note, title_of
from intrabench.results.weights import REGISTERED
from tests.conftest import Said

DATA = "phantom:shape=12x24x24,instances=2,scans=2"
PLUGIN = '''
from intrabench import BoxFill


class Titled(BoxFill):
    """As box_fill."""

    name = "titled"
    title = "Box Net"
    citation = "Doe et al. 2025, Box Net"
    homepage = "https://code.example/box-net"
'''


def forget() -> None:
    """As in a new process."""
    model_cards._stated.clear()
    model_cards._agreed.clear()


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "titled.py"
    path.write_text(PLUGIN.replace("from intrabench import BoxFill", "from intrabench.models.box_fill import BoxFill"))
    return path


def test_a_class_names_its_model_in_all_outputs(data: Path, plugin: Path, say: Callable[..., Said]) -> None:
    intrabench.run(["titled", "random_walker"], "box_slice", DATA, plugin=[plugin], workers=0, out=Path("out"))
    registry._plugins["models"].clear()  # whoever reads results need not have the class, nor have run it
    forget()
    table = say("table", "--out", "out").out
    assert "Box Net" in table
    assert "titled" not in table
    assert "Box Net" in say("table", "--out", "out", "--model", "Box Net").out
    assert "Box Net" in say("compare", "Box Net", "random_walker", "--out", "out").out
    assert say("compare", "titled", "random_walker", "--out", "out").code == 0
    text = say("methods", "--out", "out").out
    for words in ("Box Net", "titled", "https://code.example/box-net", "Doe et al. 2025"):
        assert words in text
    say("report", "report.html", "--out", "out")
    page = Path("report.html").read_text()
    for words in ("Box Net", "https://code.example/box-net", "Doe et al. 2025"):
        assert words in page
    who = ("--name", "Lab", "--contact", "a@lab.example", "--licence", "CC-BY-4.0")
    say("submit", "made/lab", *who, "--out", "out")
    say("board", "build", "made", "site")
    pages = [path.read_text() for path in Path("site").rglob("*.html")]
    assert any("Box Net" in one for one in pages)
    assert any("https://code.example/box-net" in one and "Doe et al. 2025" in one for one in pages)
    say("figures", "figures", "--out", "out", "--format", "svg")
    assert any("Box Net" in path.read_text() for path in Path("figures").glob("*.svg"))


def test_a_workspace_names_commands_without_another_version_or_run(data: Path, say: Callable[..., Said]) -> None:
    intrabench.run(["box_fill", "random_walker:beta=50"], "box_slice", DATA, workers=0, out=Path("out"))
    before = registry.make("models", "random_walker:beta=50").version
    Path("intrabench.toml").write_text('[models."random_walker:beta=50"]\ntitle = "Our tool"\n')
    assert "Our tool" in say("table", "--out", "out").out
    assert registry.make("models", "random_walker:beta=50").version == before
    assert title_of("random_walker") == "random_walker"
    again = say("run", "-m", "random_walker:beta=50", "-p", "box_slice", "-d", DATA, "--workers", "0", "--out", "out")
    assert "Our tool" in again.out + again.err


def test_a_folder_of_predictions_names_them(tmp_path: Path, say: Callable[..., Said]) -> None:
    (tmp_path / FILE).write_text('title = "Net of 2024"\nhomepage = "https://code.example"\n')
    model = registry.make("models", f"masks:folder={tmp_path}")
    assert card_of(model) == ModelCard("Net of 2024", "", "https://code.example")
    assert "homepage: https://code.example" in say("info", f"masks:folder={tmp_path}").out
    assert json.loads(say("info", f"masks:folder={tmp_path}", "--json").out)["title"] == "Net of 2024"
    (tmp_path / FILE).write_text("")
    assert not card_of(model)


def test_parameters_follow_the_title_of_a_class(tmp_path: Path) -> None:
    path = tmp_path / "walker.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom intrabench.models.random_walker import RandomWalker\n\n\n"
        "@dataclass(eq=False)\nclass Walker(RandomWalker):\n    name = 'walker'\n    title = 'Walker'\n"
    )
    registry.add_plugins([path])
    assert card_of(registry.make("models", "walker")).title == "Walker"
    assert card_of(registry.make("models", "walker:beta=50")).title == "Walker (beta=50)"


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ('homepage = "javascript:alert(1)"', "is no address"),
        (f'title = "{"x" * 81}"', "81 characters"),
        ('paper = "Doe"', "give texts as title, citation, homepage"),
    ],
)
def test_wrong_cards_get_a_sentence(tmp_path: Path, stated: str, words: str) -> None:
    (tmp_path / FILE).write_text(stated)
    with pytest.raises(IntraBenchError, match=words):
        card_of(registry.make("models", f"masks:folder={tmp_path}"))


def test_nobody_takes_the_name_of_a_model_that_ships() -> None:
    note(Path("a"), {"npz:command=theirs": ModelCard("medsam")})
    assert title_of("npz:command=theirs") == "npz:command=theirs"
    assert not card_from({"title": "a\nb"})


def test_models_with_one_title_also_show_their_specs() -> None:
    one, two = "npz:command=one", "npz:command=two"
    note(Path("a"), dict.fromkeys((one, two), ModelCard("Same")))
    assert [title_of(one), title_of(two)] == [f"Same ({one})", f"Same ({two})"]
    note(Path("a"), {one: ModelCard("Same"), two: ModelCard()})
    assert [title_of(one), title_of(two)] == ["Same", two]
    Path("intrabench.toml").write_text('[models.box_fill]\ntitle = "Alike"\n[models.random_walker]\ntitle = "Alike"\n')
    assert title_of("box_fill") == "Alike (box_fill)"


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_folders_that_disagree_name_no_model(order: str) -> None:
    title = {"a": ModelCard(), "b": ModelCard("Toy")}
    for folder in order:
        note(Path(folder), {"box_fill": title[folder], "random_walker": ModelCard("Walker")})
    assert (title_of("box_fill"), title_of("random_walker")) == ("box_fill", "Walker")


def test_a_submission_does_not_name_the_models_of_others(data: Path, say: Callable[..., Said]) -> None:
    who = ("--name", "Lab", "--contact", "a@lab.example", "--licence", "CC-BY-4.0")
    for name, settings in (("honest", ""), ("other", '[models.box_fill]\ntitle = "Broken toy"\n')):
        Path("intrabench.toml").write_text(settings)
        intrabench.run("box_fill", "box_slice", DATA, workers=0, out=Path(name))
        assert say("submit", f"made/{name}", *who, "--out", name).code == 0
        forget()
    Path("intrabench.toml").unlink()
    assert say("board", "build", "made", "site").code == 0
    assert not [path for path in Path("site").rglob("*.html") if "Broken toy" in path.read_text()]


def test_a_card_adds_to_what_is_known_of_weights() -> None:
    line = pl.DataFrame([{"model": "medsam", "weights": REGISTERED, "weights_sha256": ""}])
    (usual,) = of_models(line, [])
    note(Path("a"), {"medsam": ModelCard(homepage="https://our.example")})
    (credit,) = of_models(line, [])
    assert usual.citation.startswith("Ma et al.")
    assert (credit.citation, credit.notes, credit.homepage) == (usual.citation, usual.notes, "https://our.example")


def test_a_wrong_card_of_the_workspace_is_one_sentence(data: Path, say: Callable[..., Said]) -> None:
    intrabench.run("box_fill", "box_slice", DATA, workers=0, out=Path("out"))
    Path("intrabench.toml").write_text('[models.box_fill]\npaper = "Doe"\n')
    told = say("table", "--out", "out")
    assert told.code
    assert "intrabench.toml" in told.err
    assert "give texts as title" in told.err.replace("\n", " ")
