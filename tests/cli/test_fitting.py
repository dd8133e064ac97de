"""What a table does where it does not fit: exact screens at 80, 100 and 120 columns."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.cli import console
from intrabench.cli.console import print_columns, print_frame
from intrabench.cli.fitting import Column, broken, fitted, total
from intrabench.reporting.footnotes import Footnotes
from intrabench.results.store import Store
from tests.conftest import Said
from tests.results.made import rows

KEYS = {"prompter": ["box_interp:n=3", "box_volume"], "model": ["random_walker"] * 2}
EFFORT = {"sessions": [8, 8], "n/a": [0, 8], "interactions": [6.0, None], "human s": [21.0, None]}


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What stands on a terminal of some width after something is printed."""

    def shown(width: int | None, show: Callable[[], None]) -> str:
        monkeypatch.setattr(console, "screen_width", lambda: width)
        show()
        return capsys.readouterr().out

    return shown


def scores(count: int) -> pl.DataFrame:
    sets = {f"phantom:shape={20 + n}x48x48": [0.612 + n / 100, None] for n in range(count)}
    return pl.DataFrame(KEYS | EFFORT | sets | {"average": [0.657, None]})


NOTES = Footnotes(
    {"phantom:shape=20x48x48": ["a", "b"], "average": ["a", "b"]},
    {"a": "adapted: derived->drawn, in all sessions", "b": "n/a: a model that takes only boxes, in all sessions"},
)


def test_effort_is_dropped_first(screen: Callable[..., str]) -> None:
    out = screen(80, lambda: print_frame(scores(1), notes=NOTES, everything="--csv has everything"))
    assert out == (
        "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃ prompter       ┃ model         ┃ n/a ┃ phantom:shape=20x48x48 ┃ average ┃\n"
        "┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ box_interp:n=3 │ random_walker │   0 │                0.612 a │ 0.657 a │\n"
        "│ box_volume     │ random_walker │   8 │                    - b │     - b │\n"
        "└────────────────┴───────────────┴─────┴────────────────────────┴─────────┘\n"
        "no room at 80 columns for: human s, sessions, interactions; --csv has everything\n"
        "a  adapted: derived->drawn, in all sessions\n"
        "b  n/a: a model that takes only boxes, in all sessions\n"
    )
    assert screen(100, lambda: print_frame(scores(1))).endswith("no room at 100 columns for: sessions\n")
    assert "no room" not in screen(120, lambda: print_frame(scores(1)))


def test_then_the_table_breaks_into_blocks(screen: Callable[..., str]) -> None:
    out = screen(80, lambda: print_frame(scores(5), "title"))
    assert out == (
        "title\n"
        "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓\n"
        "┃                ┃               ┃ phantom: ┃ phantom: ┃ phantom: ┃ phantom: ┃\n"
        "┃                ┃               ┃   shape= ┃   shape= ┃   shape= ┃   shape= ┃\n"
        "┃ prompter       ┃ model         ┃ 20x48x48 ┃ 21x48x48 ┃ 22x48x48 ┃ 23x48x48 ┃\n"
        "┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩\n"
        "│ box_interp:n=3 │ random_walker │    0.612 │    0.622 │    0.632 │    0.642 │\n"
        "│ box_volume     │ random_walker │        - │        - │        - │        - │\n"
        "└────────────────┴───────────────┴──────────┴──────────┴──────────┴──────────┘\n"
        "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃                ┃               ┃ phantom: ┃         ┃\n"
        "┃                ┃               ┃   shape= ┃         ┃\n"
        "┃ prompter       ┃ model         ┃ 24x48x48 ┃ average ┃\n"
        "┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ box_interp:n=3 │ random_walker │    0.652 │   0.657 │\n"
        "│ box_volume     │ random_walker │        - │       - │\n"
        "└────────────────┴───────────────┴──────────┴─────────┘\n"
        "no room at 80 columns for: human s, sessions, n/a, interactions\n"
    )


def test_numbers_that_say_what_a_line_is_stand_in_every_block(screen: Callable[..., str]) -> None:
    frame = pl.DataFrame({"method": ["slic"] * 2, "asked": [200, 400]} | {f"score {n}": [0.5, 0.25] for n in range(12)})
    out = screen(60, lambda: print_frame(frame))
    assert (out.count("┃ asked ┃"), out.count("│   200 │"), out.count("│   400 │")) == (3, 3, 3)


def test_a_pipe_has_no_limit(screen: Callable[..., str]) -> None:
    out = screen(None, lambda: print_frame(scores(40), "title " * 60))
    title, _, head, *_ = out.splitlines()
    assert len(title) == 360
    assert [name.strip() for name in head.strip("┃").split("┃")] == scores(40).columns


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_number_and_no_model_is_broken_or_lost(screen: Callable[..., str], width: int) -> None:
    model = "sam:policy=radioactive,size=h"
    labels = {f"left_caudalanterior_{n:02d}": [0.5 + n / 1000] for n in range(83)}
    long = "points_volume:n=3,placement=center+click_volume:reachable=true,previous=drop+hand:jitter_mm=2"
    frame = pl.DataFrame({"prompter": [long], "model": [model], "sessions": [8]} | labels)
    out = screen(width, lambda: print_frame(frame))
    assert max(map(len, out.splitlines())) <= width
    assert out.count(model) == out.count("┏")
    numbers = [word for word in out.split() if word.startswith("0.")]
    assert numbers == [f"{0.5 + n / 1000:.3f}" for n in range(83)]


@pytest.mark.parametrize("width", [1, 20, 60])
def test_what_cannot_fit_is_whole_all_the_same(screen: Callable[..., str], width: int) -> None:
    out = screen(width, lambda: print_frame(scores(2)))
    assert out.count("random_walker") == 2 * out.count("┏")
    assert [word for word in out.split() if word.startswith("0.")] == ["0.612", "0.622", "0.657"]


@given(
    st.lists(st.tuples(st.sampled_from(["key", "whole", "number"]), st.integers(1, 30)), min_size=1, max_size=12),
    st.integers(10, 120),
)
def test_every_number_stands_in_one_block(given: list[tuple[str, int]], width: int) -> None:
    columns = [Column(f"c{at}", "x" * size, ["y" * size], kind) for at, (kind, size) in enumerate(given)]  # type: ignore[arg-type]
    blocks = fitted(columns, width).blocks
    numbers = [one.name for block in blocks for one in block if one.kind == "number"]
    assert numbers == [one.name for one in columns if one.kind == "number"]
    for block in blocks:
        assert total(block) <= width or sum(one.kind == "number" for one in block) <= 1


def test_names_break_where_specs_have_parts() -> None:
    assert broken("box_interp:n=3+scribble", 14) == "box_interp:\nn=3+scribble"
    assert broken("box_interp:n=3+scribble", 40) == "box_interp:n=3+scribble"
    assert broken("random_walker", 3) == "random_walker"
    assert broken("", 3) == ""


def test_lists_fit_a_terminal(screen: Callable[..., str]) -> None:
    given = [
        {"name": "adrenal_acc", "paper": "D7", "licence": "CC BY 4.0"},
        {"name": "berkeley", "paper": "-", "licence": "non-commercial research and educational purposes"},
    ]
    assert screen(30, lambda: print_columns(given, spared=("paper",))) == (
        "name         licence\n"
        "adrenal_acc  CC BY 4.0\n"
        "berkeley     non-commercial\n"
        "             research and\n"
        "             educational\n"
        "             purposes\n"
        "no room at 30 columns for:\n"
        "paper; --json has everything\n"
    )
    piped = screen(None, lambda: print_columns(given, spared=("paper",)))
    assert piped.splitlines()[2] == "berkeley     -      non-commercial research and educational purposes"


@pytest.mark.parametrize("words", [("list", "datasets"), ("weights", "list"), ("list", "models"), ("data", "list")])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_of_a_list_is_wider(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], width: int
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda: width)
    said = say(*words)
    assert max(map(len, said.out.splitlines())) <= width
    assert said.code == 0


def test_a_terminal_has_its_own_width() -> None:
    """A real one, whatever the environment calls it."""
    store = Store(Path("intrabench-results"), "run")
    given = rows(*({"dataset": f"phantom:shape=2{n}x48x48", "dice": 0.5 + n / 100} for n in range(10)))
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in given.to_dicts()], [])
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, 84, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "dumb"}
    command = [sys.executable, "-m", "intrabench", "table"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as running:
        os.close(theirs)
        out = b""
        try:
            while part := os.read(ours, 65536):
                out += part
        except OSError:  # the end of a terminal
            pass
    os.close(ours)
    lines = out.decode().splitlines()
    assert running.returncode == 0
    assert 70 <= max(map(len, lines)) <= 84
    assert [word for line in lines for word in line.split() if word.startswith("0.")] == [
        *(f"{0.5 + n / 100:.3f}" for n in range(10)),
        "0.545",
    ]
