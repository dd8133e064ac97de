"""Exports name no person, path, host or address; what they name is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intrabench.results.private import Private
from tests.conftest import Said
from tests.publishing.exports.conftest import SECRETS, texts
from tests.results.made import rows

COMMANDS = {
    "eee": (),
    "hf": ("--benchmark", "Liver=lab/liver/dice"),
    "croissant": (),
    "ro-crate": (),
}


@pytest.mark.parametrize("format", COMMANDS)
def test_no_secret_leaves(format: str, private: Path, say: Callable[..., Said]) -> None:
    assert all(secret in texts(private) for secret in ("jdoe", "gpu7", "/home", "DOE^JANE"))
    said = say("export", format, "new", "--out", str(private), *COMMANDS[format])
    assert said.code == 0, said.err
    found = texts(Path("new"))
    assert "Liver" in found
    assert [secret for secret in SECRETS if secret in found] == []
    assert "rater-1" in found  # ab
    assert "rater-2" in found


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("random_walker:beta=90", "random_walker:beta=90"),
        ("hf:repo=facebook/sam-vit-base", "hf:repo=facebook/sam-vit-base"),
        ("box_interp:n=3+scribble", "box_interp:n=3+scribble"),
        ("masks:folder=/opt/data/answers", "masks:folder=answers"),
        ('masks:folder="/opt/a, b/my answers"', 'masks:folder="my answers"'),
        ("masks:folder='/opt/a, b/my answers'+x", "masks:folder='my answers'+x"),
        ("url='http://jdoe:pw@gpu7:1527/x'", "url='http://host'"),
        ("masks:folder=~/answers", "masks:folder=answers"),
        ("masks:folder=../answers,x=1", "masks:folder=answers,x=1"),
        (r"masks:folder=C:\Users\doe\answers", "masks:folder=answers"),
        (r"masks:folder=C:\Users\doe", "masks:folder=path"),
        ("masks:folder=/home/doe", "masks:folder=path"),
        ("/data/liver:label=/data/masks", "liver:label=masks"),
        ("nninteractive_server:url=http://gpu7.clinic:1527/a,x=1", "nninteractive_server:url=http://host,x=1"),
        ("human:rater=doe", "human:rater=rater-1"),
        ("human:rater=stranger", "human:rater=rater-unknown"),
    ],
)
def test_specs_without_paths(words: str, text: str) -> None:
    assert Private(rows({"prompter": "human:rater=doe", "dice": 1.0})).text(words) == text


def test_two_folders_of_one_name_stay_two_models() -> None:
    made = rows({"model": "masks:folder=/a/x", "dice": 0.25}, {"model": "masks:folder=/b/x", "dice": 0.75})
    found = Private(made).rows(made)
    assert found.select("model", "dice").rows() == [("masks:folder=x", 0.25), ("masks:folder=x~2", 0.75)]


def test_patients_stay_apart_under_numbers() -> None:
    made = rows(
        *({"case": case, "patient": who, "dice": 1.0} for case, who in (("1", "z"), ("2", "z"), ("3", "y"), ("4", "4")))
    )
    found = Private(made).rows(made.with_columns(error=pl.lit("/home/x")))
    assert found["patient"].to_list() == ["patient-2", "patient-2", "patient-1", "4"]
    assert found["error"].null_count() == 4
