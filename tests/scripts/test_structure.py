"""The structure stays as simple as it is; `scripts/structure.py` measures it, and says how it counts."""

from __future__ import annotations

from tests.scripts import script

structure = script("structure")


def test_rooms_and_their_arrows() -> None:
    rooms = structure.rooms()
    root = [name for name in rooms if structure.modules()[name].parent == structure.PACKAGE or name == "intrabench"]
    assert len(rooms) <= 34, sorted(rooms)
    assert len(root) <= 12, root
    assert sum(map(len, rooms.values())) <= 293
    up = structure.running_up(rooms)
    assert len(up) <= 8, up


def test_few_frames_lie_between_a_run_and_its_session_and_row() -> None:
    """A failure shows the stack, which says how a run works."""
    stacks = structure.profiled()
    assert stacks["session"][-1] == "play/session.py Session.__init__"
    assert stacks["row"][-1] == "results/store.py Store.write_part"
    assert len(stacks["session"]) <= 16, "\n".join(stacks["session"])
    assert len(stacks["row"]) <= 18, "\n".join(stacks["row"])


def test_a_batch_is_followed_with_words_that_the_page_explains() -> None:
    names = [noun.split(": ")[1] for noun in structure.nouns_on_the_way()]
    page = (structure.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    words = page.partition("| word | what it is |")[2].partition("\n\n")[0]
    assert {"Plan", "Scheduler", "Player", "ResultWriter"} <= set(names)
    assert len(names) <= 17, names
    assert [name for name in names if f"`{name}`" not in words and f"`{name};" not in words] == []


def test_arrows_that_run_up_are_counted() -> None:
    layers = {"cli": {"engine", "files"}, "engine": {"files"}, "files": set[str]()}
    assert structure.running_up(layers) == []
    assert structure.running_up({**layers, "files": {"cli"}}) == [("files", "cli")]


def test_few_tests_pin_a_sentence() -> None:
    """Sentences stand in `tests/golden/wording`; `tests/wording.py` says how."""
    total, pinning = structure.tests()
    assert len(pinning) <= 0.05 * total, "\n".join(pinning)
