"""What stands in the report, and that it stands alone."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.protocols import PROTOCOLS
from intrabench.reporting.figures import write_figures
from intrabench.reporting.numbers import RANK
from intrabench.reporting.page.credits import command
from intrabench.reporting.table import effort_table
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import lines_of
from intrabench.statistics.measures import scored_by
from intrabench.statistics.ranking import ranking
from intrabench.statistics.resample import FEW, intervals
from intrabench.statistics.scores import metric, scores
from tests.reporting.page.page_of import Page, report, store
from tests.results.made import curve, rows
from tests.wording import line_with, sentence_with

HOW = AGGREGATIONS["protocol"]


def several() -> pl.DataFrame:
    """Two models and prompters on two data sets of eight cases each, with two corrections."""
    return pl.concat(
        curve(
            [quality / 10, quality / 10 + 0.1, quality / 10 + 0.05 * (case % 3)],
            model=model,
            prompter=prompter,
            dataset=dataset,
            case=str(case),
            target_ml=float(case + 1),
        )
        for quality, (model, prompter) in enumerate((m, p) for m in ("m", "n") for p in ("p", "q+scribble"))
        for dataset in ("d", "e")
        for case in range(8)
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(tmp_path / "results", several())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, str]:
    """The report of `several`."""
    return report(store(tmp_path_factory.mktemp("several") / "results", several()))


@pytest.mark.parametrize(("few", "said"), [((), "all"), (("d",), "some"), (("d", "e"), "none")])
def test_captions_say_when_there_is_no_interval(tmp_path: Path, few: tuple[str, ...], said: str) -> None:
    """Of few patients there is none; then no caption promises one, and nothing is said of what overlaps."""
    rows = several().filter(~pl.col("dataset").is_in(few) | (pl.col("case").cast(pl.Int64) < FEW - 1))
    page, _ = report(store(tmp_path / "results", rows), views=0)
    texts = {part: len(re.findall(text, page.text)) for part, text in CAPTIONS.items()}
    with_interval = "".join(cell for line in page.tables["effort"][1:] for cell in line[-3:])
    assert ("–" in with_interval) == (said != "none")
    assert texts == {
        "absent": 6 if said == "none" else 0,
        "partial": 6 if said == "some" else 0,
        "overlap": 0 if said == "none" else 1,
    }


CAPTIONS = {
    "absent": f"no 95 % interval.*? than {FEW} patients",
    "partial": f", which fewer than {FEW} ",
    "overlap": "whose interval overlaps its",
}
"""What captions may say of intervals."""


def test_the_numbers_are_those_of_the_tables(written: tuple[Page, str]) -> None:
    page, _ = written
    head, *lines = page.tables["effort"]
    expected = effort_table(several()).sort("prompter", "model")
    sure = intervals(scores(several()), IDENTITY, HOW)
    efforts = ["Interactions", "DoF", "User,\u00a0s", "Machine,\u00a0s"]
    assert head == ["Prompter", "Model", "Sessions", *efforts, "d", "e", "average"]
    assert len(lines) == expected.height == 4
    for line, row in zip(lines, expected.iter_rows(named=True), strict=True):
        assert line[:4] == [row["prompter"], row["model"], str(row["sessions"]), f"{row['interactions']:.1f}"]
        for place, cell in zip(("d", "e", "average"), line[-3:], strict=True):
            found = sure.filter(dataset=place, prompter=row["prompter"], model=row["model"]).row(0, named=True)
            ends = dict.fromkeys(f"{found[end]:.2f}" for end in ("low", "high"))
            assert cell == f"{row[place]:.3f} {'–'.join(ends)}"


def test_the_curves_pass_through_the_scores_of_every_round(written: tuple[Page, str]) -> None:
    data = written[0].data("curve-data")
    assert data["datasets"] == ["average", "d", "e"]
    until = [effort_table(several().filter(pl.col("round") <= number)) for number in range(3)]
    for dataset, line, number, dice, low, high, interactions, *_ in data["points"]:
        who, name = data["lines"][line], data["datasets"][dataset]
        row = until[number].filter(model=who["model"], prompter=who["prompter"]).row(0, named=True)
        assert dice == pytest.approx(row[name], rel=1e-4)
        assert interactions == pytest.approx(row["interactions"])
        assert low <= dice <= high
    assert len(data["points"]) == 4 * 3 * 3


def test_the_ranking_is_that_of_the_statistics(written: tuple[Page, str]) -> None:
    page, _ = written
    head, *lines = page.tables["ranking"]
    assert head == ["Prompter", "Model", "Rank", "Mean Dice", "Ranks, 95 %"]
    expected = []
    for prompter in ("p", "q+scribble"):
        found = ranking(scores(several().filter(prompter=prompter)), IDENTITY, HOW)
        for row in found.table.iter_rows(named=True):
            within = "–".join(dict.fromkeys(f"{row[end]:.0f}" for end in ("low", "high")))
            expected.append([prompter, row["model"], str(row["rank"]), f"{row['value']:.3f}", within])
        assert f"{found.tau:.2f} ({prompter})" in page.text
    assert lines == expected


def test_other_tables(written: tuple[Page, str]) -> None:
    page, _ = written
    assert page.tables["metrics"][0][2:] == ["Dice", "IoU", "NSD, 2 mm", "HD95, mm"]
    assert page.tables["metrics"][1][4:] == ["0.500", "1.0"]
    sizes = several().filter(pl.col("round") == 2, model="n", prompter="q+scribble")
    alike = ("dataset", "label")
    small = sizes.filter(((pl.col("target_ml").rank("min") - 1) * 3 < pl.len()).over(alike))
    assert page.tables["sizes"][0][2] == f"small, {len(small)} targets"
    assert float(page.tables["sizes"][4][2]) == pytest.approx(small["dice"].mean(), abs=0.001)
    harm = [line[-1] for line in page.tables["progress"][1:]]
    assert harm == ["38 %"] * 4  # where a case's number is a multiple of 3, the second correction loses 0.1


def test_lines_that_differ_in_nothing_but_their_weights_have_names_of_their_own(wording: SnapshotAssertion) -> None:
    given = rows(
        {"weights_sha256": "0123456789"},
        {"weights_sha256": "abcdefghij"},
        {"weights_sha256": "abcdefghij", "dtype": "float16"},
        {"model": "n", "strict": True},
        {"model": "n", "protocol": "intrabench@1"},
    )
    lines = lines_of(given)
    assert lines["name"].n_unique() == lines.height == 5
    assert line_with(lines["name"].to_list(), "abcdefgh, float16)") == wording
    assert line_with(lines["name"].to_list(), "(basic@1, float32") == wording


def test_infinite_values_are_sorted_as_such(tmp_path: Path) -> None:
    failed = {"dice": 0.0, "status": "error", "error": "so", "prompter": "q"}
    page, text = report(store(tmp_path / "results", rows({"dice": 0.5}, failed)))
    assert [line[-1] for line in page.tables["metrics"][1:]] == ["1.0", "∞ infinite in 1 of 1"]
    assert 'data-value="Infinity"' in text


def test_nothing_that_was_given_becomes_markup(tmp_path: Path) -> None:
    evil = "</script><script>alert('x')</script><img src=x onerror=alert(1)>"
    page, text = report(
        store(
            tmp_path / "results",
            rows({"dice": 0.5, "case": evil, "prompter": evil, "dataset": evil, "model": f"{evil} (random weights)"}),
            rows({"dice": 0.0, "status": "error", "error": evil, "model": evil}),
        )
    )
    assert evil in page.text
    assert sum(tag == "script" for tag, _ in page.tags) == 4  # the data of answers, curves and labels, and the code
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert not [name for _, given in page.tags for name in given if name.startswith("on")]
    assert evil not in text


def test_it_needs_no_network(written: tuple[Page, str]) -> None:
    page, text = written
    assert {"link", "iframe", "base", "object"}.isdisjoint(tag for tag, _ in page.tags)
    for tag, given in page.tags:
        for name, value in given.items():
            if (tag, name) == ("img", "src"):
                assert (value or "").startswith("data:image/jpeg;base64,")
                continue
            assert "//" not in (value or "") or (tag, name) == ("a", "href")
            assert name not in ("src", "srcset", "data", "poster")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "fetch(" not in page.scripts["code"]
    assert ("meta", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:") in [
        (tag, given.get("content")) for tag, given in page.tags
    ]


def test_it_is_light(written: tuple[Page, str]) -> None:
    assert len(written[1]) < 145_000


def test_who_cannot_see_or_point_can_read_it(written: tuple[Page, str]) -> None:
    page, _ = written
    heads = [given for tag, given in page.tags if tag == "th"]
    assert {given["scope"] for given in heads} == {"col", "row"}
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert {given["href"] for tag, given in page.tags if tag == "a"} <= {f"#{id}" for id in ids}
    assert ("html", {"lang": "en"}) in page.tags


def test_failures_that_differ_in_numbers_are_one_with_an_example(tmp_path: Path) -> None:
    wrong = [{"dice": 0.0, "status": "oom", "error": f"tried {case} slices", "case": str(case)} for case in range(5)]
    page, _ = report(store(tmp_path / "results", *(rows(one) for one in wrong), rows({"dice": 0.5, "case": "7"})))
    message = "tried N slices; for example: tried 0 slices"
    assert page.tables["failures"][1:] == [["oom", message, "5", "p, m", "d", "0, x.1; 1, x.1; 2, x.1; and 2 more"]]


def test_failures_are_listed_with_their_messages_and_alike_ones_together(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    folder = store(
        tmp_path / "results",
        *(rows({"dice": 0.0, "status": "oom", "error": "no memory", "case": str(case)}) for case in range(5)),
        rows({"dice": 0.0, "status": "error", "error": "it broke", "case": "6"}, {"dice": 0.5, "case": "7"}),
    )
    page, _ = report(folder)
    where = "0, x.1; 1, x.1; 2, x.1; and 2 more"
    assert page.tables["failures"][1] == ["oom", "no memory", "5", "p, m", "d", where]
    assert page.tables["failures"][2][:3] == ["error", "it broke", "1"]
    assert "6 of 7 sessions" in page.text
    assert line_with(page.text, "sessions failed") == wording


def test_contaminated_results_are_marked(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = store(
        tmp_path / "results",
        rows(*({"dice": 0.5, "dataset": name, "seen_in_training": seen} for name, seen in (("d", "yes"), ("e", "no")))),
    )
    page, _ = report(folder)
    assert page.tables["effort"][1][-3:] == [wording, "0.500", "0.500"]
    assert line_with(page.text, "that contain") == wording


def test_lines_that_lack_sessions_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = store(
        tmp_path / "results",
        rows({"dice": 0.5}, {"dice": 0.5, "case": "2"}, {"dice": 0.5, "prompter": "q"}),
        rows({"dice": 0.5, "dataset": "e"}),
    )
    text = report(folder)[0].text
    assert "1 of 2 sessions" in text
    assert line_with(text, "sessions on") == wording
    assert line_with(text, "ranked because") == wording
    assert line_with(text, "conclusions: d") == wording


def test_cases_are_told_with_their_patients(tmp_path: Path, wording: SnapshotAssertion) -> None:
    scans = [{"dice": 0.5, "case": f"P{scan % 4}/{scan}", "patient": f"P{scan % 4}"} for scan in range(7)]
    text = report(store(tmp_path / "results", rows(*scans)))[0].text
    assert line_with(text, "cases of") == wording
    assert line_with(text, "conclusions: d") == wording


def test_lines_without_a_rank_are_told_together(tmp_path: Path, wording: SnapshotAssertion) -> None:
    lacking = (rows({"dice": 0.5, "prompter": prompter}) for prompter in "qr")
    both = rows({"dice": 0.5}, {"dice": 0.5, "dataset": "e"})
    page, _ = report(store(tmp_path / "results", both, *lacking, rows({"dice": 0.5, "prompter": "s", "dataset": "e"})))
    assert line_with(page.text, "missing e") == wording
    assert line_with(page.text, "missing d") == wording


def test_targets_that_cannot_be_shown_are_told_together(tmp_path: Path, wording: SnapshotAssertion) -> None:
    given = rows(*({"dice": 0.1 * case, "case": str(case), "dataset": "no_such_set"} for case in range(3)))
    page, _ = report(store(tmp_path / "results", given))
    assert line_with(page.text, "no_such_set, cases") == wording
    assert page.text.count("no_such_set, case") == 1


def test_a_run_that_did_not_end_makes_it_partial(results: Path, wording: SnapshotAssertion) -> None:
    (results / "runs").mkdir()
    record = {
        "run_id": "r",
        "state": "interrupted",
        "started": "2026-01-01",
        "command": "intrabench run",
        "options": {},
    }
    (results / "runs" / "r.json").write_text(json.dumps(record))
    page, _ = report(results)
    assert line_with(page.text, "partial because") == wording
    assert page.tables["runs"][1][3] == "interrupted"


def test_protocols_that_mean_different_things_are_not_ranked_together(tmp_path: Path) -> None:
    stopped = {"dice": 0.5, "stop": "dice=0.9"}
    page, _ = report(store(tmp_path / "results", rows({"dice": 0.5}, stopped)))
    assert "ranking" not in page.tables
    assert "cannot be combined" in page.text
    assert page.tables["effort"][0][2] == "Which"


@pytest.mark.parametrize("status", ["not_applicable", "error"])
def test_nothing_that_counts(tmp_path: Path, status: str) -> None:
    page, _ = report(store(tmp_path / "results", rows({"dice": None, "status": status, "error": "so it is"})))
    assert len(page.tables["effort"]) == 2


def test_an_empty_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntraBenchError, match="has no results yet"):
        report(tmp_path)


def test_a_file_that_cannot_be_written(results: Path, wording: SnapshotAssertion) -> None:
    from intrabench.reporting.page.page import write_report

    (results / "file").touch()
    with pytest.raises(IntraBenchError) as caught:
        write_report(results, results / "file" / "report.html")
    assert caught == wording


@pytest.mark.parametrize(
    "words",
    [
        "--model m --prompter p --dataset d --protocol basic@1 --rounds 0",
        "--model m --weights random --prompter p --dataset d --protocol basic@1 --rounds 1 --seed 1 --seed 2",
        "--model m:a=1 --prompter p+q --dataset d --protocol b@1 --stop dice=0.9 --rounds 5 --dtype float16 --strict",
    ],
)
def test_the_command_of_a_line_repeats_it(words: str) -> None:
    given = words.split()
    value = dict(zip(given[::2], given[1::2], strict=False))
    seeds = [int(b) for a, b in pairwise(given) if a == "--seed"] or [0]
    made = rows(
        *(
            {
                "model": value["--model"],
                "weights": value.get("--weights", ""),
                "prompter": value["--prompter"],
                "protocol": value["--protocol"],
                "stop": value.get("--stop", ""),
                "round": int(value["--rounds"]),
                "dtype": value.get("--dtype", "float32"),
                "strict": "--strict" in given,
                "seed": seed,
            }
            for seed in seeds
        )
    )
    line = lines_of(made).row(0, named=True)
    assert command(line, ["d"]) == f"intrabench run {words}"
    by_hand = line | {"weights": "file", "weights_sha256": "1a2b3c4d5e"}
    assert "--weights FILE-1a2b3c4d --prompter" in command(by_hand, ["d"])
    assert "p:a='x y'" in shlex.split(command(line | {"prompter": "p:a='x y'"}, ["d"]))


def test_lines_are_compared_on_the_targets_that_they_share(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Over its own four cases the network is behind, on the same cases ahead; three of eight are too few to compare."""

    def line(model: str, *values: float) -> pl.DataFrame:
        return rows(*({"dice": value, "case": str(case)} for case, value in enumerate(values)), model=model)

    base, own, tried = [0.7] * 4 + [0.9] * 4, [0.75] * 4, [0.99] * 3
    given = pl.concat([line("base", *base), line("base2", *base), line("own", *own), line("tried", *tried)])
    page, text = report(store(tmp_path / "results", given))
    cells = {one[1]: one[-1] for one in page.tables["effort"][1:]}
    expected = {"base": "0.800", "base2": "0.800", "own": "0.750", "tried": "0.990"}
    assert {model: cell[:5] for model, cell in cells.items()} == expected
    assert ["note" in cell for cell in cells.values()] == [False, False, True, True]
    assert not any("best" in cell for cell in cells.values())  # of different targets
    ranked = page.tables["ranking"][1:]
    assert [one[1] for one in ranked] == ["own", "base", "base2"]
    assert not any("note" in part for one in ranked for part in one)
    assert "Groups of clicks" not in text
    assert sorted(one[2][-5:] for one in page.tables["pairs"][1:]) == ["0.000", "0.050", "0.050"]
    assert not any("tried" in part for one in page.tables["pairs"] for part in one)
    assert [sentence_with(text, words) for words in ("mean of 4", "mean of 3", "they share", "tried, which")] == wording
    assert text.count("own has 4 of") == 1
    assert "tried has" not in text  # it is told with what it lacks


def test_lines_without_a_common_target_are_shown_and_not_compared(tmp_path: Path, wording: SnapshotAssertion) -> None:
    one = rows({"case": "1", "dice": 0.7}, {"case": "2", "dice": 0.9}, model="one")
    other = rows({"case": "3", "dice": 0.6}, {"case": "4", "dice": 0.8}, model="other")
    page, text = report(store(tmp_path / "results", pl.concat([one, other])))
    assert {line[1]: line[-1][:5] for line in page.tables["effort"][1:]} == {"one": "0.800", "other": "0.700"}
    assert "ranking" not in page.tables
    assert sentence_with(text, "has a value of every") == wording
    written = [path.name for path in write_figures(tmp_path / "results", tmp_path / "figures")[0]]
    assert "dice_by_size.png" in written
    assert "ranking.png" not in written


def test_numbers_of_adapted_prompts_have_notes(tmp_path: Path, wording: SnapshotAssertion) -> None:
    given = pl.concat(
        [
            rows({"dice": 0.5, "adapted": "box3d->box2d"}, {"dice": 0.5, "case": "2", "adapted": ""}, model="boxes"),
            rows({"dice": 0.5}, {"dice": 0.5, "case": "2"}, model="walker"),
            rows({"status": "not_applicable", "error": "no <b>"}, model="points", dataset="e"),
        ]
    )
    page, text = report(store(tmp_path / "results", given))
    cells = {line[1]: line[-3:] for line in page.tables["effort"][1:]}
    assert cells == {  # "note" is only heard
        "boxes": ["0.500 notea", "–", "– notea"],
        "points": ["–", "– noteb", "– noteb"],
        "walker": ["0.500", "–", "–"],
    }
    assert re.findall(r"<li>(<sup>.</sup> .*?)</li>", text) == wording
    assert sentence_with(text, "Adapted prompts") == wording


def test_numbers_of_clicks_of_sessions_cut_short_have_notes(tmp_path: Path, wording: SnapshotAssertion) -> None:
    def clicked(model: str, *iou: float) -> pl.DataFrame:
        each = ({"iou": one, "dice": one, "round": n, "interactions": n + 1.0} for n, one in enumerate(iou))
        return rows(*each, model=model, protocol="rclicks@1")

    page, text = report(store(tmp_path / "results", clicked("early", 0.5, 0.95, 1), clicked("short", 0.5, 0.75)))
    assert {line[1]: line[-1] for line in page.tables["effort"][1:]} == {"early": "2.0", "short": "20.0 notea"}
    own = {line[0]: [cell.partition(" ")[2] for cell in line[3:]] for line in page.tables["own-rclicks"][1:]}
    assert own == {"early": ["", "", ""], "short": ["notea", "noteb", ""]}
    assert {line[1]: line[3] for line in page.tables["progress"][1:]} == {"early": "2.0", "short": "20.0 note‡"}
    assert [line[3].partition(" ")[2] for line in page.tables["ranking"][1:]] == ["", "notea"]
    assert re.findall(r"<li>(<sup>a</sup> .*?)</li>", text)[0] == wording
    effort, own_section = (
        re.search(f"<section id={id}>(.*?)</section>", text, re.S) for id in ("effort-section", "own-section")
    )
    assert effort is not None
    assert own_section is not None  # each table has the notes of its own cells below it
    assert [re.findall("<li><sup>(.)</sup>", one[1]) for one in (effort, own_section)] == [["a"], ["a", "b"]]
    assert sentence_with(text, "‡: ") == wording
    assert line_with(page.text, "iou after the last") == wording


def test_without_adapted_prompts_there_are_no_notes(written: tuple[Page, str]) -> None:
    _, text = written
    assert "class=notes" not in text
    assert "Adapted prompts" not in text


@pytest.mark.parametrize("protocol", [id for id, one in PROTOCOLS.items() if one.numbers])
def test_every_protocol_leads_with_its_first_number(tmp_path: Path, protocol: str) -> None:
    numbers = PROTOCOLS[protocol].numbers
    columns = {metric(scored_by(spec)).column for _, spec in numbers}
    made = pl.concat(curve([0.5, 0.9], protocol=protocol, model=model) for model in ("m", "n"))
    made = made.with_columns(pl.col("dice").alias(column) for column in columns).with_columns(pred_voxels=9)
    page, _ = report(store(tmp_path / "results", made), views=0)
    assert f"Effort against {numbers[0][0]}" in page.text
    assert page.tables[f"own-{protocol.partition('@')[0]}"][0][3:] == [
        *(head for head, _ in numbers),
        *[RANK] * PROTOCOLS[protocol].ranked,
    ]
    assert page.data("answer-data")["units"][0]["stops"][-1]["rows"]
