"""Every output says the same: facts of results, each beside what every command says of it.

A new command must be entered in `READS`, in each fact's `says`, or in `OTHERS`.
"""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np
import polars as pl
import pytest
import typer

import intrabench
from intrabench.api import results
from intrabench.cli.main import app
from intrabench.models.weights.registry import BY_HAND
from intrabench.publishing.methods.methods import Methods
from tests.conftest import Said

TEXTS = (".html", ".svg", ".json", ".jsonl", ".yaml", ".md", ".csv", ".txt")
DATA = "cubes"
BASE, OTHER, THIRD = "box_fill", "random_walker", "supervoxels:method=grid"
PEOPLE = "human:rater=ab"
SHA256 = "abcdef12" * 8
REFUSES = "refuses superpixels"
WORST = "worst annotation of an image"
BOTH = "infinite in both lines in 4 of 12"
MISSES, PART, SPEC = "infinite in 4 of 12", "only cases case-0[0-5]", "box_interp:n=3"
NAMED = f"{OTHER} (weights {SHA256[:8]})"
WHO = ("--name", "Lab", "--contact", "a@lab.example", "--licence", "CC-BY-4.0")

READS: Mapping[str, Sequence[str]] = {
    "table": (),
    "table --common": (),
    "table --format json": (),
    "compare": (BASE, OTHER),
    "compare --json": (BASE, OTHER),
    "power": (BASE, OTHER, "--difference", "1"),
    "report": ("made/report.html",),
    "figures": ("made", "--format", "svg"),
    "methods": (),
    "failures": (),
    "gap": (),
    "submit": ("made/lab", *WHO),
    "board build": ("made", "site"),
    "export rows": ("made/rows.csv",),
    "export masks": ("made",),
    "export lesions": ("made/lesions.csv",),
    "export eee": ("made",),
    "export hf": ("made", "--benchmark", f"{DATA}=organization/name/task"),
    "export croissant": ("made",),
    "export ro-crate": ("made",),
    "intrabench.table": (),
    "intrabench.compare": (BASE, OTHER),
    "intrabench.power": (BASE, OTHER),
    "intrabench.methods": (),
}
"""Commands and functions that read results, and what else they are given; what they write is in ``made``."""

AFTER = {"board build": "submit"}
"""What must be done before."""

OTHERS = {
    **dict.fromkeys(("list", "info", "init", "check", "preview", "serve", "job"), "reads no results"),
    **dict.fromkeys(("run", "annotate", "record", "superpixels run", "superpixels tune"), "makes rows"),
    **dict.fromkeys(("merge", "compact"), "keeps rows as they are"),
    "score": "measures metrics of stored masks",
    "verify": "plays single sessions again",
    "status": "says how far runs are",
    "calibrate": "measures actions of people",
    "export clicks": "writes what users gave",
    "board check": "says whether a submission is consistent",
    **dict.fromkeys((f"superpixels {name}" for name in ("table", "compare", "report")), "shows superpixels only"),
    **dict.fromkeys((f"intrabench.{name}" for name in ("report", "figures", "submit")), "writes what its command does"),
    **dict.fromkeys(
        (f"intrabench.{name}" for name in ("merge", "compact", "lesions", "score", "verify")), "as its command"
    ),
    "intrabench.compare_published": "compares with printed numbers",
}
"""Commands that say nothing of models and their scores, by reason."""
GROUPS = {
    **dict.fromkeys(("data", "weights", "clickability"), "reads no results"),
    "rate": "reads what people said of masks",
}


def commands(of: typer.Typer = app, group: str = "") -> list[str]:
    """All commands, as they are typed."""
    found = [f"{group} {one.name or one.callback.__name__}".strip() for one in of.registered_commands if one.callback]
    for more in of.registered_groups:
        assert more.typer_instance
        found += commands(more.typer_instance, str(more.name or more.typer_instance.info.name))
    return found


def test_every_command_is_entered() -> None:
    known = {" ".join(word for word in one.split() if not word.startswith("--")) for one in READS} | set(OTHERS)
    functions = [name for name, one in vars(results).items() if getattr(one, "__module__", "") == results.__name__]
    every = [*commands(), *(f"intrabench.{name}" for name in functions if name in dir(intrabench))]
    missing = [one for one in every if one not in known and one.split()[0] not in GROUPS]
    assert missing == [], "enter these in READS, with what they say of each fact, or in OTHERS"


BETTER = pl.col("model").replace_strict({BASE: 0.0, OTHER: 0.02, THIRD: -0.05})
"""How much better a model is than `BASE`."""
NUMBER = pl.col("case").str.extract(r"(\d+)$").cast(pl.Int64)
"""Of a case, from 0 to 11."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ``data`` and ``results`` of a real run on twelve cubes of 1000 voxels."""
    folder = tmp_path_factory.mktemp("played")
    label = np.zeros((16, 16, 16), np.uint8)
    label[2:12, 2:12, 2:12] = 1
    for number in range(12):
        image = 100.0 * label + np.random.default_rng(number).normal(size=label.shape)
        for kind, array in (("images", image.astype(np.float32)), ("labels", label)):
            (folder / DATA / kind).mkdir(parents=True, exist_ok=True)
            nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), folder / DATA / kind / f"case-{number:02}.nii.gz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        intrabench.run([BASE, OTHER, THIRD], "box_interp", folder / DATA, metric="hd95", out=folder / "results")
    return folder


def changed(played: Path, output: str, make: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """The default results folder, with other rows; for `gap`, `BASE` is a person and `OTHER` a robot."""
    copy = Path(shutil.copytree(played / "results", "intrabench-results"))
    first, *parts = sorted((copy / "rows").iterdir())
    rows = pl.concat([pl.read_parquet(part) for part in (first, *parts)], how="diagonal_relaxed")
    rows = make(scored(rows, 0.8 + NUMBER * 0.01 + BETTER))
    (people(rows) if output == "gap" else rows).write_parquet(first)
    for part in parts:
        part.unlink()


def scored(rows: pl.DataFrame, dice: pl.Expr) -> pl.DataFrame:
    """The rows with these Dice, of answers that are as large as their targets, or empty."""
    missed = ((1 - dice) * 1000).round().cast(pl.Int64)
    empty = missed == 1000
    return rows.with_columns(
        target_voxels=pl.lit(1000, pl.Int64),
        fn_voxels=missed,
        fp_voxels=pl.when(empty).then(0).otherwise(missed),
        pred_voxels=pl.when(empty).then(0).otherwise(1000),
        dice=1 - missed / 1000,
        iou=(1000 - missed) / (1000 + missed),
        hd95_mm=pl.when(empty).then(float("inf")).otherwise(1 / dice),
        status=pl.when(empty).then(pl.lit("empty")).otherwise(pl.lit("ok")),
    )


def people(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of `BASE` as a person's, those of `OTHER` as a robot's with the same model."""
    two = rows.filter(pl.col("model").is_in([BASE, OTHER]))
    prompter = pl.when(pl.col("model") == BASE).then(pl.lit(PEOPLE)).otherwise("prompter")
    same = ("model_version", "weights", "weights_sha256", "seen_in_training", "dtype")
    base = [pl.lit(two.filter(model=BASE)[name].first(), two.schema[name]).alias(name) for name in same]
    return two.with_columns(*base, prompter=prompter).with_columns(model=pl.lit(BASE))


def text_of(say: Callable[..., Said], output: str, words: Sequence[str], without: Sequence[str]) -> str:
    """All that a command says, on the screen and in the files that it writes, without tags.

    words: options of the command and of what comes before it, but not of those in `without`.
    """
    if output.startswith("intrabench."):
        return returned(output, dict(zip((word[2:] for word in words[::2]), words[1::2], strict=True)))
    for one in filter(None, (AFTER.get(output), output)):
        said = say(*one.split(), *READS[one], *(() if one in without else words))
        assert said.code in (0, 1), said.err
    files = [path for path in sorted(Path("site" if AFTER.get(output) else "made").rglob("*")) if path.suffix in TEXTS]
    text = " ".join([said.out, said.err, *(path.read_text(encoding="utf-8") for path in files)])
    return " ".join(re.sub(r"</?[a-z][^<>]*>", " ", text).split())


def returned(output: str, options: Mapping[str, str]) -> str:
    """What a function returns, as a text, with its warnings."""
    if output == "intrabench.power":
        options = {**options, "difference": "1"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = getattr(intrabench, output.partition(".")[2])(*READS[output], **options)
    if isinstance(found, Methods):
        return found.written()
    frames = [found] if isinstance(found, pl.DataFrame) else [one.datasets for one in found.values()]
    shared = [] if isinstance(found, pl.DataFrame) else [str(one.shared) for one in found.values()]
    lines = [frame.with_columns(pl.selectors.float().round(6)).to_dicts() for frame in frames]
    return " ".join(map(str, [*lines, *shared, *(str(one.message) for one in told)]))


def fewer(rows: pl.DataFrame) -> pl.DataFrame:
    """`OTHER` has half of the cases, those on which all models are worse."""
    return rows.filter((pl.col("model") != OTHER) | (NUMBER < 6))


def missed(rows: pl.DataFrame) -> pl.DataFrame:
    """`OTHER` misses four of twelve targets, and is `BASE` otherwise."""
    base = 0.8 + NUMBER * 0.01
    other = pl.when(NUMBER < 4).then(0.0).otherwise(base)
    return scored(rows, pl.when(pl.col("model") == OTHER).then(other).otherwise(base + BETTER))


def both_missed(rows: pl.DataFrame) -> pl.DataFrame:
    """All models miss the same four of twelve targets."""
    return scored(rows, pl.when(NUMBER < 4).then(0.0).otherwise(0.8 + NUMBER * 0.01 + BETTER))


def as_they_are(rows: pl.DataFrame) -> pl.DataFrame:
    """All models on all cases."""
    return rows


def own_weights(rows: pl.DataFrame) -> pl.DataFrame:
    """`OTHER` has weights from a file of the user's."""
    other = pl.col("model") == OTHER
    hashed = pl.when(other).then(pl.lit(SHA256)).otherwise("weights_sha256")
    return rows.with_columns(weights=pl.when(other).then(pl.lit(BY_HAND)).otherwise("weights"), weights_sha256=hashed)


def several_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Superpixels of pictures that two people annotated: the boundary recall by the second is lower by 0.1."""
    divided = rows.with_columns(protocol=pl.lit("superpixels@1"), metrics=pl.lit("rec@1"), label=pl.lit("annotation"))
    people = [
        divided.with_columns(
            target=pl.lit(f"annotation.{person}"), instance=pl.lit(person, pl.Int64), rec=pl.col("dice") - 0.1 * person
        ).with_columns(session=pl.format("{}-{}", "session", "target"))
        for person in (0, 1)
    ]
    return pl.concat(people)


ROWS, FILES = "has the rows of sessions, and no mean", "has files and cards, and no mean"
NO_MEANS = {
    "failures": "has no scores",
    "submit": "`board build` shows what is submitted",
    "export rows": ROWS,
    "export masks": FILES,
    "export lesions": FILES,
    "export croissant": FILES,
    "export ro-crate": FILES,
}


@dataclass(frozen=True)
class Fact:
    """Something that results hold, and what every command says of it.

    make: from the rows of all models on all cases. says: by command the texts that it shows; or, as one text, why it
    says nothing. words: options of the commands, but of those in `without`.
    """

    make: Callable[[pl.DataFrame], pl.DataFrame]
    says: Mapping[str, Sequence[str] | str]
    words: Sequence[str] = ()
    without: Sequence[str] = ()


FACTS = {
    "a model with fewer targets": Fact(
        fewer,
        {
            **NO_MEANS,
            "table": ["0.855", "0.845 a", "6 of 12 targets"],
            "table --common": ["0.825", "0.845", "6 of 12 targets"],
            "table --format json": ["0.855", "0.845", "6 of 12"],
            "compare": ["+0.020", "6 only in"],
            "compare --json": ['"difference": 0.02', '"only_a": 6'],
            "power": ["+0.020"],
            "report": ["6 of 12 targets"],
            "figures": ["6 of 12 targets"],
            "methods": ["6 of 12 targets", "cubes (version"],
            "gap": ["0.020", "0.825", "0.845"],
            "board build": ["6 of the 12 targets"],
            "export eee": ["6 of 12"],
            "export hf": ["6 of 12"],
            "intrabench.table": ["'cubes': 0.855", "'cubes': 0.845", "6 of 12"],
            "intrabench.compare": ["'difference': 0.02", "'targets': 6"],
            "intrabench.power": ["'difference': 0.02", "'patients': 6"],
            "intrabench.methods": ["6 of 12 targets"],
        },
    ),
    "a model that misses targets": Fact(
        missed,
        {
            **NO_MEANS,
            "table": ["inf a", MISSES],
            "table --common": ["inf a", MISSES],
            "table --format json": ['"Infinity"', MISSES],
            "compare": [f"{MISSES}; +0.000 over the other 8"],
            "compare --json": ['"difference": "-Infinity"', '"infinite": 4', '"of": 12'],
            "power": [f"{MISSES}; +0.000 over the other 8"],
            "report": [MISSES],
            "figures": [MISSES],
            "methods": [MISSES],
            "gap": [MISSES],
            "board build": [MISSES],
            "export eee": [MISSES],
            "export hf": [MISSES],
            "intrabench.table": ["'cubes': inf", MISSES],
            "intrabench.compare": ["'difference': -inf", "'infinite': 4, 'of': 12, 'others': 0.0"],
            "intrabench.power": ["'difference': -inf", "'infinite': 4"],
            "intrabench.methods": [MISSES],
        },
        words=("--metric", "hd95"),
        without=("submit", "board build", "export eee"),
    ),
    "targets that all models miss": Fact(
        both_missed,
        {
            **NO_MEANS,
            **{one: ["inf a", MISSES] for one in ("table", "table --common")},
            **{one: [MISSES] for one in ("figures", "methods", "board build", "export eee", "export hf")},
            "table --format json": ['"Infinity"', MISSES],
            "compare": [BOTH],
            "compare --json": ['"both_infinite": 4', '"targets": 8', '"infinite": 0'],
            "power": [BOTH],
            "report": [MISSES, BOTH],
            "gap": [BOTH],
            "intrabench.table": ["'cubes': inf", MISSES],
            "intrabench.compare": ["'both_infinite': 4", "'targets': 8"],
            "intrabench.power": ["'both_infinite': 4", "'patients': 8"],
            "intrabench.methods": [MISSES],
        },
        words=("--metric", "hd95"),
        without=("submit", "board build", "export eee"),
    ),
    "a part of the cases": Fact(
        as_they_are,
        {
            "table": ["0.825", PART],
            "table --common": ["0.825", PART],
            "table --format json": ["0.825", PART],
            "compare": ["+0.020", PART],
            "compare --json": ['"difference": 0.02', '"patients": 6', PART],
            "power": ["+0.020", PART],
            "report": ["0.825", PART],
            "figures": [PART.capitalize()],
            "methods": ["0.825", PART],
            "failures": [PART],
            "gap": ["0.825", "0.845", PART],
            "submit": [PART],
            "board build": ["0.825", PART],
            "export rows": [PART],
            "export masks": FILES,
            "export lesions": FILES,
            "export eee": ["0.825", PART],
            "export hf": ["0.825", PART],
            "export croissant": [PART],
            "export ro-crate": [PART],
            "intrabench.table": ["'cubes': 0.825", "'sessions': 6"],
            "intrabench.compare": ["'difference': 0.02", "'patients': 6"],
            "intrabench.power": ["'difference': 0.02", "'patients': 6"],
            "intrabench.methods": ["0.825", PART],
        },
        words=("--cases", "case-0[0-5]"),
        without=("board build",),
    ),
    "a spec with its defaults": Fact(
        as_they_are,
        {
            **{output: [SPEC] for output in READS},
            **dict.fromkeys(
                ("figures", "failures", "export masks", "export lesions", "export croissant"), "does not show it"
            ),
            "submit": "`board build` shows what is submitted",
            "intrabench.power": "does not show it",
        },
        words=("--prompter", SPEC.replace(":n=3", "")),
        without=("board build",),
    ),
    "pictures that several people annotated": Fact(
        several_people,
        {
            **NO_MEANS,
            "table": [WORST, "0.755", "0.775"],
            "table --common": [WORST, "0.755", "0.775"],
            "table --format json": ["0.755", "0.775"],
            "compare": [WORST, "+0.020"],
            "compare --json": ['"difference": 0.02', '"targets": 12'],
            "power": [WORST, "+0.020"],
            "report": REFUSES,
            "figures": "draws means, and says nothing of how they are taken",
            "methods": [WORST, "0.755", "0.775"],
            "gap": ["0.755", "0.775"],
            "board build": REFUSES,
            "export eee": REFUSES,
            "export hf": REFUSES,
            "intrabench.table": ["'cubes': 0.755", "'cubes': 0.775"],
            "intrabench.compare": ["'difference': 0.02", "'targets': 12"],
            "intrabench.power": ["'difference': 0.02", "'patients': 12"],
            "intrabench.methods": [WORST, "0.755", "0.775"],
        },
        words=("--metric", "rec"),
    ),
    "weights from a file": Fact(
        own_weights,
        {
            "table": [NAMED],
            "table --common": [NAMED],
            "table --format json": [BY_HAND, SHA256],
            "compare": "compares what it is asked to, by name",
            "compare --json": "compares what it is asked to, by name",
            "power": "compares what it is asked to, by name",
            "report": [NAMED],
            "figures": [NAMED],
            "methods": ["weights from a file of our own", SHA256],
            "failures": "nothing failed",
            "gap": "compares robots with people, who have the same model",
            "submit": "`board build` shows what is submitted",
            "board build": [SHA256[:8], "own weights"],
            "export rows": ["file", SHA256],
            "export masks": FILES,
            "export lesions": FILES,
            "export eee": [NAMED, '"weights": "file"', SHA256],
            "export hf": [NAMED],
            "export croissant": "has prompts and data",
            "export ro-crate": ["Weights: file", SHA256],
            "intrabench.table": [f"'weights': '{BY_HAND}'", SHA256],
            "intrabench.compare": "compares what it is asked to, by name",
            "intrabench.power": "compares what it is asked to, by name",
            "intrabench.methods": ["weights from a file of our own", SHA256],
        },
    ),
}
"""Facts of results; every command must be there."""


@pytest.mark.parametrize("output", READS)
@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_the_same_in_every_output(
    name: str, output: str, played: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = FACTS[name]
    assert output in fact.says, f"enter what `{output}` says of {name}, or why it says nothing"
    expected = fact.says[output]
    if isinstance(expected, str):
        return
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    changed(played, output, fact.make)
    text = text_of(say, output, fact.words, fact.without)
    assert [part for part in expected if part not in text] == [], text[:5000]
