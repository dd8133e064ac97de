"""Code of the user's own that tries to end the program: its session or its command fails, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.check import check
from intrabench.engine.model_runners import make_runner
from intrabench.engine.options import Options
from intrabench.errors import IntraBenchError, Quit, foreign, in_words
from tests.conftest import Said
from tests.wording import line_with

pytestmark = pytest.mark.usefixtures("data")
Say = Callable[..., Said]

SMALL = "phantom:shape=16x32x32,instances=2"

PLUGIN = """
import errno
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from intrabench.datasets.base import Dataset
from intrabench.datasets.phantom import Phantom
from intrabench.metrics.overlap import Dice
from intrabench.models.base import Answer, Predictor
from intrabench.models.box_fill import BoxFill
from intrabench.prompters.box_slice import BoxSlice

class Stop(BaseException):
    pass

class Mute(Exception):
    def __str__(self):
        raise ValueError

class Leaver(BaseException):
    def __repr__(self):
        sys.exit(0)

class Endless(BaseException):
    def __repr__(self):
        return "e" * 10**7

def end(where):
    if where == PLACE:
        raise HOW

end("import")

@dataclass(eq=False)
class Leaving(BoxFill):
    name = "leaving"

    def __post_init__(self):
        end("model")

    def load(self):
        end("load")

    @property
    def covers(self):
        end("covers")
        return "all"

    @property
    def abilities(self):
        end("abilities")
        return super().abilities

    @contextmanager
    def open(self, volume):
        end("open")
        with super().open(volume) as image:
            yield image
        end("close")

    def segment_one(self, volume, request):
        end("segment")
        return super().segment_one(volume, request)

@dataclass(frozen=True)
class Walking(BoxSlice):
    name = "walking"

    def interact(self, user):
        end("interact")
        try:
            yield from super().interact(user)
            yield from super().interact(user)
        finally:
            end("ending")

@dataclass(frozen=True)
class Fading(Phantom):
    name = "fading"
    shape: tuple[int, int, int] = (16, 32, 32)
    instances: int = 2

    def cases(self):
        end("cases")
        return super().cases()

    def load(self, case, files):
        end("data")
        return super().load(case, files)

@dataclass(frozen=True)
class Lost(Dice):
    name = "lost"

    def measure(self, pair):
        if pair.target.label == "blob":  # not when it is tried before the run
            end("metric")
        return super().measure(pair)
"""


def plugin(place: str, how: str = "SystemExit(0)") -> str:
    """A plug-in that ends the program at one place."""
    Path("mine.py").write_text(PLUGIN.replace("PLACE", repr(place)).replace("HOW", how))
    return "mine.py"


def run(say: Say, *more: str, model: str = "leaving") -> Said:
    """A run of the plug-in's classes, and of a model that ships."""
    words = ["--model", model, "--model", "box_fill", "--prompter", "walking", "--dataset", "fading"]
    return say("run", "--plugin", "mine.py", *words, "--protocol", "overlap@1", "--out", "out", *more)


def rows() -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part) for part in Path("out/rows").iterdir()], how="diagonal")


HOWS = ["SystemExit(0)", "GeneratorExit()", "Stop('now')"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", ["open", "segment"])
def test_a_model_that_ends_the_program_fails_alone(say: Say, place: str, how: str) -> None:
    plugin(place, how)
    assert run(say).code == 1
    found = {(row["model"], row["status"]) for row in rows().to_dicts()}
    assert found == {("leaving", "error"), ("box_fill", "ok")}
    failed = rows().filter(pl.col("status") == "error")["error"].unique().to_list()
    sentence = f"{how} would have ended the program; raise an ordinary exception, in line "
    assert len(failed) == 1
    assert sentence in failed[0]
    assert failed[0].endswith(" of mine.py")


@pytest.mark.parametrize(
    ("place", "how"),
    [*((place, how) for place in ("interact", "ending") for how in HOWS if (place, how) != ("ending", HOWS[1]))],
)  # a generator may end by GeneratorExit when it is closed
def test_a_prompter_that_ends_the_program_is_an_error_of_its_sessions(say: Say, place: str, how: str) -> None:
    plugin(place, how)
    assert run(say).code == 1
    assert set(rows()["status"]) == {"error"}
    assert all(error.startswith(f"prompter: {how} would have ended") for error in rows()["error"])
    assert set(rows()["dice"]) == {0.0}


def test_a_data_set_that_ends_the_program_is_a_failed_case(say: Say) -> None:
    plugin("data")
    assert run(say, "--dataset", SMALL).code == 1
    found = {(row["dataset"].partition(":")[0], row["target"] == "*", row["status"]) for row in rows().to_dicts()}
    assert found == {("fading", True, "no_data"), ("phantom", False, "ok")}


def test_a_metric_that_ends_the_program_has_no_value(say: Say, wording: SnapshotAssertion) -> None:
    plugin("metric")
    said = run(say, "--metric", "lost")
    assert set(rows()["status"]) == {"ok"}
    assert set(rows()["lost"]) == {None}
    assert said.err == wording


def test_a_model_that_ends_the_program_when_it_is_closed_is_named(say: Say, wording: SnapshotAssertion) -> None:
    plugin("close")
    said = run(say)
    assert line_with(said.out + said.err, "leaving: closing") == wording
    assert {(row["model"], row["status"]) for row in rows().to_dicts()} == {("leaving", "ok"), ("box_fill", "ok")}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", ["import", "model", "cases"])
def test_before_the_first_session_it_is_one_sentence(
    say: Say, place: str, how: str, wording: SnapshotAssertion
) -> None:
    plugin(place, how)
    said = run(say)
    assert said.code == 2
    (line,) = said.err.strip().splitlines()
    assert line.startswith("error: ")
    assert line == wording
    assert " of mine.py" in line


@pytest.mark.parametrize(
    ("place", "words", "code"),
    [
        ("load", ("check", "leaving"), 1),
        ("open", ("check", "leaving"), 1),
        ("segment", ("check", "leaving"), 1),
        ("model", ("check", "leaving"), 2),
        ("interact", ("preview", "--prompter", "walking", "--dataset", SMALL), 2),
        ("open", ("preview", "--prompter", "box_slice", "--dataset", SMALL, "--model", "leaving"), 2),
        ("segment", ("preview", "--prompter", "box_slice", "--dataset", SMALL, "--model", "leaving"), 2),
        ("import", ("list", "models"), 2),
        ("covers", ("info", "leaving"), 2),
        ("cases", ("data", "list", "fading"), 2),
        ("data", ("data", "check", "fading"), 1),
        ("data", ("data", "get", "fading"), 1),
    ],
)
def test_every_command_ends_with_its_own_exit_code(
    say: Say, place: str, words: tuple[str, ...], code: int, wording: SnapshotAssertion
) -> None:
    said = say(*words, "--plugin", plugin(place))
    assert line_with(said.out + said.err, "the program") == wording
    assert said.code == code


ORDINARY = {
    "EOFError()": "EOFError, in line ",
    "BrokenPipeError(errno.EPIPE, 'x')": "BrokenPipeError: [Errno 32] x, in line ",
    "typer.Exit(0)": "Exit: 0, in line ",
    "typer.Abort()": "Abort, in line ",
    "Mute()": "Mute, in line ",
    "Leaver()": "Leaver would have ended the program; raise an ordinary exception, in line ",
    "Endless()": "e" * 200 + " would have ended the program; raise an ordinary exception, in line ",
}


@pytest.mark.parametrize(("how", "sentence"), ORDINARY.items())
def test_what_the_command_line_takes_for_an_end_of_its_own_is_a_sentence(say: Say, how: str, sentence: str) -> None:
    plugin("abilities", how)
    said = run(say)
    assert (said.code, said.err[: len(sentence) + 7]) == (2, f"error: {sentence}")
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("how", ["Mute()", "Leaver()", "Endless()", "ValueError('e' * 10**7)", "EOFError()"])
@pytest.mark.parametrize("place", ["segment", "interact", "data", "metric"])
def test_an_exception_with_a_text_of_its_own_fails_its_session_alone(say: Say, place: str, how: str) -> None:
    plugin(place, how)
    said = run(say, "--dataset", SMALL, "--metric", "lost")
    assert said.code == (0 if place == "metric" else 1)
    errors = [error for error in rows()["error"] if error]
    assert errors
    assert all(len(error) < 2100 and " of mine.py" in error for error in errors)
    assert len(said.err) < 10_000


def test_a_text_that_steers_the_terminal_is_printed(say: Say, wording: SnapshotAssertion) -> None:
    plugin("segment", "ValueError('\\x1b[2J\\x07 a\\nok b\\u202ec')")
    said = run(say)
    assert line_with(said.err, "error: ValueError") == wording
    assert "\x1b" not in said.out + said.err
    plugin("data", "ValueError('\\x1b[2J')")  # told while the run goes on
    assert "\x1b" not in run(say).err


def test_an_error_of_ours_that_a_plug_in_raises_is_bounded(say: Say) -> None:
    how = "__import__('intrabench').IntraBenchError('e' * 10**7)"
    for place in ("open", "segment", "interact", "cases"):
        plugin(place, how)
        assert len(run(say, "--out", place).err) < 10_000
    plugin("load", how)
    assert len(run(say, "--python", sys.executable).err) < 10_000
    plugin("open", how.replace("IntraBenchError", "errors.NotApplicable"))
    assert len(run(say, "--out", "not").err) < 10_000


def test_info_asks_the_object_where_a_property_decides(say: Say, wording: SnapshotAssertion) -> None:
    properties = """
    @property
    def accepts(self):
        return frozenset({"box3d"})

    @property
    def covers"""
    Path("mine.py").write_text(
        PLUGIN.replace("\n    @property\n    def covers", properties, 1)
        .replace(
            "    def cases(self)",
            "    @property\n    def card(self):\n        return Phantom.card\n\n    def cases(self)",
        )
        .replace("PLACE", "''")
    )
    assert line_with(say("info", "leaving", "--plugin", "mine.py").out, "works in") == wording
    assert "title: " in say("info", "fading", "--plugin", "mine.py").out


def test_other_exceptions_of_a_property_are_a_sentence_too(say: Say, wording: SnapshotAssertion) -> None:
    plugin("covers", "KeyError('nothing')")
    said = say("info", "leaving", "--plugin", "mine.py")
    assert said.code == 2
    assert said.err == wording


def test_a_program_of_the_users_goes_on(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.run(model="leaving", prompter="walking", dataset=SMALL, out="out", plugin=[plugin("model")])
    assert caught == wording


@pytest.mark.parametrize(
    "place", ["load", "segment", *(pytest.param(place, marks=pytest.mark.slow) for place in ("open", "close"))]
)
def test_in_another_interpreter(say: Say, place: str) -> None:
    plugin(place)
    said = run(say, "--python", sys.executable)
    assert "SystemExit(0) would have ended the program" in said.err + said.out or place == "close"
    assert said.code == {"load": 2, "open": 1, "segment": 1, "close": 0}[place]


def test_ctrl_c_is_the_users_own() -> None:
    plugin("segment", "KeyboardInterrupt()")
    with pytest.raises(KeyboardInterrupt):
        list(check(make_runner(Options(model=["leaving"], plugin=[Path("mine.py")]))))


def test_check_can_be_left_early() -> None:
    plugin("nowhere")
    findings = check(make_runner(Options(model=["leaving"], plugin=[Path("mine.py")])))
    assert [next(findings).ok, next(findings).ok] == [True, True]
    findings.close()  # type: ignore[attr-defined]


def test_the_words_name_what_was_raised(wording: SnapshotAssertion) -> None:
    with suppress(KeyError), foreign():
        raise KeyError
    with pytest.raises(Quit) as raised, foreign():
        raise SystemExit("done")
    assert in_words(raised.value) == wording


def test_the_program_itself_ends_with_the_code_of_the_sentence(tmp_path: Path, wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text("raise SystemExit(0)\n\nclass A:\n    name = 'a'\n")
    words = ["-m", "intrabench", "list", "models", "--plugin", "mine.py"]
    package = str(Path(intrabench.__file__).parents[1])
    ended = subprocess.run([sys.executable, *words], env={"PYTHONPATH": package}, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == wording


@pytest.mark.parametrize("how", ["sys.exit(0)", "raise KeyError('gone')", "raise Stop('now')"])
@pytest.mark.parametrize("place", ["abilities", "propagates"])
def test_a_property_that_fails_while_the_run_goes_on_fails_its_own_sessions(say: Say, place: str, how: str) -> None:
    owner = "Leaving" if place == "abilities" else "Walking"
    fails = f"""
import inspect

def fails(self, usual={owner}.{place}):
    if any(frame.function == "make_session" for frame in inspect.stack()):
        {how}
    return usual.fget(self) if isinstance(usual, property) else usual

{owner}.{place} = property(fails)
"""
    Path("mine.py").write_text(PLUGIN.replace("PLACE", "''").replace("HOW", "Stop()") + fails)
    assert run(say).code == 1
    failing = {"abilities": ["leaving"], "propagates": ["box_fill", "leaving"]}[place]
    found = rows().filter(pl.col("status") == "error")
    assert sorted(found["model"].unique()) == failing
    assert found["error"].str.contains("in line .* of mine.py").all()
    assert rows()["session"].n_unique() == 4
