"""Specs: parsed, checked, written back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import ClassVar, Literal

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.specs.specs import build, in_sequence, located, nearest, parse, quoted, short_spec_of, spec_of, split


@dataclass(frozen=True)
class Thing:
    name = "thing"
    n: int = 3
    size: float = 1.5
    kind: Literal["a", "b"] = "a"
    on: bool = False
    text: str = ""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("thing", ("thing", {})),
        (" thing : n = 4 ", ("thing", {"n": "4"})),
        ("thing:n=4,kind=b", ("thing", {"n": "4", "kind": "b"})),
        ('thing:text="a,b=c",n=1', ("thing", {"text": "a,b=c", "n": "1"})),
        ("thing:text=a/b:c=d", ("thing", {"text": "a/b:c=d"})),
        ("thing:text=", ("thing", {"text": ""})),
    ],
)
def test_parse(spec: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse(spec) == expected


@pytest.mark.parametrize("spec", ["", ":n=3", "thing:", "thing:n", "thing:n=1,", "thing:,n=1", "thing:n=1,n=2"])
def test_malformed(spec: str) -> None:
    with pytest.raises(IntraBenchError):
        parse(spec)


def test_a_path_with_commas_is_told_to_be_quoted(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        parse("thing:text=a,n=1,n=2")
    assert caught == wording
    assert parse("thing:text='a,n=1',n=2") == ("thing", {"text": "a,n=1", "n": "2"})


def test_build_checks_types_and_names(wording: SnapshotAssertion) -> None:
    arguments = {"n": "7", "size": "2", "kind": "b", "on": "true"}
    assert build(Thing, arguments, "x") == Thing(7, 2.0, "b", True)
    with pytest.raises(IntraBenchError, match="n=many does not fit"):
        build(Thing, {"n": "many"}, "thing:n=many")
    with pytest.raises(IntraBenchError, match="kind=c does not fit"):
        build(Thing, {"kind": "c"}, "thing:kind=c")
    with pytest.raises(IntraBenchError) as caught:
        build(Thing, {"sizes": "3"}, "thing:sizes=3")
    assert caught == wording


def test_written_back() -> None:
    thing = Thing(text="a,b", on=True)
    assert spec_of(thing) == 'thing:n=3,size=1.5,kind=a,on=true,text="a,b"'
    assert short_spec_of(thing) == 'thing:on=true,text="a,b"'
    assert short_spec_of(Thing()) == "thing"
    for write in (spec_of, short_spec_of):
        name, arguments = parse(write(thing))
        assert (name, build(Thing, arguments, "again")) == ("thing", thing)


@dataclass(frozen=True)
class Optional:
    name = "optional"
    n: int | None = None
    text: str | None = "a"
    plain: str = "a"
    sizes: tuple[int, ...] = (1,)
    steps: tuple[float, float] = (0.5, 1.0)
    odd: ModuleType | None = None


@pytest.mark.parametrize(
    "given", [Optional(), Optional(3, None), Optional(plain="None"), Optional(sizes=(2, 3, 4), steps=(1.0, 2.5))]
)
def test_what_is_written_is_read_back(given: Optional) -> None:
    name, arguments = parse(spec_of(given))
    assert build(Optional, arguments, name) == given


@pytest.mark.parametrize("spec", ["optional:steps=1", "optional:steps=1x2x3", "optional:sizes=1xa", "optional:n=x"])
def test_numbers_that_do_not_fit_are_refused(spec: str) -> None:
    name, arguments = parse(spec)
    with pytest.raises(IntraBenchError, match="does not fit"):
        build(Optional, arguments, name)


def test_nearest(wording: SnapshotAssertion) -> None:
    assert nearest("box_intrep", ["box_interp", "box_slice"]) == wording
    assert nearest("zzz", ["box_interp"]) == ""


@pytest.mark.parametrize("text", ["a,b", "a+b", "it's", 'a"b', "plain", "a=b", "name:key=value"])
def test_values_are_written_so_that_they_are_read_back(text: str) -> None:
    spec = f"name:key={quoted(text)}"
    assert split(spec) == [spec]
    assert parse(spec) == ("name", {"key": text})


def test_a_parameter_of_a_type_without_words_is_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        build(Optional, {"odd": "x"}, "optional:odd=x")
    assert caught == wording


@dataclass(frozen=True)
class Needy:
    name: ClassVar[str] = "needy"
    k: int
    shape: tuple[int, int, int] = (1, 1, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"k": "abc"},
        {"k": "1", "shape": "2x4"},
    ],
    ids=str,
)
def test_what_a_parameter_takes_is_said_in_words(arguments: dict[str, str], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        build(Needy, arguments, "needy")
    assert str(caught.value) == wording


def test_a_type_that_the_class_does_not_import_is_one_sentence() -> None:
    @dataclass(frozen=True)
    class Mine:
        name: ClassVar[str] = "mine"
        size: "Unknown" = 1  # type: ignore[name-defined]  # noqa: F821, UP037

    said = r"class Mine: the type of a parameter cannot be read \(NameError: .*import"
    with pytest.raises(IntraBenchError, match=said):
        build(Mine, {"size": "2"}, "mine:size=2")


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("masks:folder=F+random_walker", ["masks:folder=F", "random_walker"]),
        ("masks:folder=F,instances=one+npz:command='a + b'", ["masks:folder=F,instances=one", "npz:command='a + b'"]),
        ("sam2:size=b+", ["sam2:size=b+"]),
        ("sam2:size=b+,release=2.0", ["sam2:size=b+,release=2.0"]),
        ("masks:folder=F+sam2:size=b+,release=2.0", ["masks:folder=F", "sam2:size=b+,release=2.0"]),
        ('npz:command="x+y"', ['npz:command="x+y"']),
        ("a+b+c", ["a", "b", "c"]),
    ],
)
def test_models_in_sequence(spec: str, parts: list[str]) -> None:
    assert in_sequence(spec) == parts


@pytest.mark.parametrize(
    "spec",
    [
        "box_fill:a=" + " " * 300_000 + '"',
        "box_fill:" + "a" * 300_000 + " " * 300_000 + "=",
        "box_fill" + "+box_fill" * 30_000 + '+a:b="',
        "a" + "+'\"" * 100_000,
    ],
)
def test_no_spec_of_somebody_else_takes_longer_than_its_length(spec: str) -> None:
    begun = process_time()
    for reads in (parse, split, in_sequence, located):
        with suppress(IntraBenchError):
            reads(spec)
    assert process_time() - begun < 5  # minutes, if a pattern goes back


def test_spellings_of_one_path_are_equal_when_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = 'masks:folder="a, b",instances=files'
    for folder in ("a, b", "./a, b", "a, b/", f"{tmp_path}/a, b", "../" + tmp_path.name + "/a, b"):
        assert located(f'masks:folder="{folder}",instances=files') == full
        assert located(f'masks:folder="{folder}",instances=files+box_fill') == f"{full}+box_fill"
    assert located("masks:folder=/x/../y") == "masks:folder=/y"
    for other in ("masks:folder=c", "masks:folder=", "hf:repo=org/name", "sam:size=l", "sam (random weights)", "x:y"):
        assert located(other) == other
