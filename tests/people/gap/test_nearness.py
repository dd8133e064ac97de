"""Simulated users by their nearness to people: constructed scores, and ranks that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from intrabench.people.nearness import AMONG, nearness

REFERENCE = ("dataset", "case", "label", "target", "target_voxels")
EFFORTS = (1, 3)


def values(scores: Mapping[tuple[str | None, str | None, int], Sequence[Sequence[float]]]) -> pl.DataFrame:
    """A line per session and effort. scores: by robot, rater and seed, for each target those at `EFFORTS`."""
    lines = [
        {
            "session": f"{robot}{rater}{seed}-{n}",
            "model": "m",
            "robot": robot,
            "rater": rater,
            "against": "interactions",
        }
        | {"dataset": "d", "case": f"c{n}", "label": "l", "target": "l.1", "target_voxels": 9, "patient": f"p{n}"}
        | {"measure": f"dice after {effort}", "value": value}
        for (robot, rater, seed), of_targets in scores.items()
        for n, of_target in enumerate(of_targets)
        for effort, value in zip(EFFORTS, of_target, strict=False)
    ]
    return pl.DataFrame(lines, infer_schema_length=None)


def found(frame: pl.DataFrame) -> dict[str, dict[str, object]]:
    return {line["prompter"]: line for line in nearness(frame, REFERENCE)[0].iter_rows(named=True)}


PEOPLE = {(None, "ab", 0): [(0.4, 0.8), (0.2, 0.6)], (None, "cd", 0): [(0.6, 0.8), (0.2, 0.8)]}


def test_the_nearest_has_the_least_difference_of_single_sessions_at_equal_effort() -> None:
    """`above` and `below` have the same mean as people on both targets together, and are not near to them."""
    lines = found(
        values(
            PEOPLE
            | {
                ("near", None, 0): [(0.5, 0.8), (0.2, 0.7)],
                ("off", None, 0): [(0.8, 0.8), (0.0, 0.6)],
                ("far", None, 0): [(0.0, 0.0), (0.0, 0.0)],
            }
        )
    )
    assert [(name, line["rank"]) for name, line in lines.items()] == [
        ("near", 1),
        ("off", 2),
        ("far", 3),
        (AMONG, None),
    ]
    assert lines["near"]["apart"] == pytest.approx(np.mean([0.1, 0.1, 0, 0, 0, 0, 0.1, 0.1]))
    assert lines["off"]["apart"] == pytest.approx(np.mean([0.4, 0.2, 0, 0, 0.2, 0.2, 0, 0.2]))
    assert lines["far"]["apart"] == pytest.approx(np.mean([0.4, 0.6, 0.8, 0.8, 0.2, 0.2, 0.6, 0.8]))
    assert lines[AMONG]["apart"] == pytest.approx(np.mean([0.2, 0, 0, 0.2]))
    assert {line["low"] for line in lines.values()} == {None}  # of two patients
    assert {line["targets"] for line in lines.values()} == {2}


def test_more_seeds_make_nobody_nearer() -> None:
    """The mean of the seeds is what people have, yet every session is 0.1 from theirs."""
    one = {(None, "ab", 0): [(0.5, 0.5)] * 2}
    seeds = {("scattered", None, seed): [(0.5 + sign, 0.5 + sign)] * 2 for seed, sign in enumerate((-0.1, 0.1))}
    lines = found(values(one | seeds | {("off", None, 0): [(0.55, 0.55)] * 2}))
    assert lines["scattered"]["apart"] == pytest.approx(0.1)
    assert (lines["off"]["rank"], lines["scattered"]["rank"]) == (1, 2)
    assert AMONG not in lines  # of a single person


def test_only_targets_that_all_have_count_and_who_lacks_most_is_left_out() -> None:
    """`whole` is the nearest where all are, although it is the farthest elsewhere."""
    people = {(None, "ab", 0): [(0.5, 0.5)] * 6}
    frame = values(
        people
        | {
            ("whole", None, 0): [(0.6, 0.6), (0.0, 0.0), (0.0, 0.0), *[(0.6, 0.6)] * 3],
            ("other", None, 0): [(0.7, 0.7), (0.5, 0.5), (0.5, 0.5), *[(0.7, 0.7)] * 3],
            ("third", None, 0): [(0.9, 0.9), (0.5, 0.5), (0.5, 0.5), *[(0.9, 0.9)] * 3],
            ("lone", None, 0): [(0.5, 0.5)],
        }
    )
    frame = frame.filter(~((pl.col("robot") == "other") & pl.col("case").is_in(["c1"])).fill_null(False))
    frame = frame.filter(~((pl.col("robot") == "third") & pl.col("case").is_in(["c2"])).fill_null(False))
    ranked, notes = nearness(frame, REFERENCE)
    assert ranked.select("prompter", "rank", "targets").rows() == [("whole", 1, 4), ("other", 2, 4), ("third", 3, 4)]
    assert ranked["apart"].to_list() == pytest.approx([0.1, 0.2, 0.4])
    assert len(notes) == 2
    assert "4 of 6 targets" in notes[0]
    assert "lone" in notes[1]


def test_nothing_in_common_is_told() -> None:
    frame = values({(None, "ab", 0): [(0.5,)] * 2, ("one", None, 0): [(0.5,)] * 2, ("two", None, 0): [(0.5,)] * 2})
    apart = ((pl.col("robot") == "one") & (pl.col("case") == "c0")) | (
        (pl.col("robot") == "two") & (pl.col("case") == "c1")
    )
    ranked, notes = nearness(frame.filter(~apart.fill_null(False)), REFERENCE)
    assert ranked.is_empty()
    assert len(notes) == 1


def test_intervals_are_over_patients_and_infinite_scores_stay() -> None:
    rng = np.random.default_rng(0)
    people = rng.uniform(0.3, 0.8, size=(12, 2))
    errors = rng.uniform(0, 0.2, size=(12, 2))
    lines = found(
        values(
            {
                (None, "ab", 0): people.tolist(),
                ("near", None, 0): (people + errors).tolist(),
                ("far", None, 0): (people + 0.3 + errors).tolist(),
                ("missed", None, 0): [(np.inf, np.inf), *people[1:].tolist()],
            }
        )
    )
    assert lines["near"]["apart"] == pytest.approx(errors.mean())
    assert lines["near"]["low"] < errors.mean() < lines["near"]["high"]  # type: ignore[operator]
    assert (lines["near"]["rank_low"], lines["near"]["rank_high"]) == (1, 2)
    assert (lines["missed"]["apart"], lines["missed"]["rank"]) == (np.inf, 3)
    both = values({(None, "ab", 0): [(np.inf, 5.0)], ("one", None, 0): [(np.inf, 7.0)]})
    assert found(both)["one"]["apart"] == 1.0  # two misses are not apart
