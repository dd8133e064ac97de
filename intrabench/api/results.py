"""Results in Python: tables, comparisons, report, figures, merging, scoring and verification."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from intrabench.api.arguments import typed
from intrabench.errors import PartialResults
from intrabench.registry.objects import DatasetLike, MetricLike, ModelLike, PrompterLike, made_spec

if TYPE_CHECKING:
    import polars as pl

    from intrabench.engine.score import Scored
    from intrabench.engine.verify import Verdict
    from intrabench.publishing.board.submission import Submission
    from intrabench.publishing.methods.methods import Methods
    from intrabench.reporting.comparison import Comparisons
    from intrabench.reporting.display import ResultTable
    from intrabench.reporting.reference.claims import PublishedClaims
    from intrabench.results.compact import Compacted
    from intrabench.results.merge import Merged
    from intrabench.results.selection import Selection

Folder: TypeAlias = str | Path | None
"""A results folder; None: ``results`` of the workspace, else ``intrabench-results``."""
Line: TypeAlias = Path | ModelLike | PrompterLike
"""A results folder, a model or a prompter."""
Plugins: TypeAlias = str | Path | Iterable[str | Path]
"""Python files with your own classes."""


class Sessions(TypedDict, total=False):
    """Which sessions count, one or several of each: names as in tables, specs, or globs such as ``box_*``.

    cases: also ``first:3``, ``subset:NAME`` and ``@FILE``; targets: ids, labels, and bounds such as ``ml>=1``.
    """

    prompter: PrompterLike | Iterable[PrompterLike]
    dataset: DatasetLike | Iterable[DatasetLike]
    cases: str | Iterable[str]
    targets: str | Iterable[str]
    protocol: str | Iterable[str]


class Chosen(Sessions, total=False):
    """`Sessions`, also by their model."""

    model: ModelLike | Iterable[ModelLike]


@typed
def table(
    out: Folder = None,
    *,
    metric: MetricLike = "",
    round: int | None = None,
    per_round: bool = False,
    by: str | Sequence[str] = "",
    columns: str = "dataset",
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    groups: bool = False,
    users: bool = False,
    spread: str = "",
    difficulty: bool = False,
    correlate: MetricLike | Sequence[MetricLike] = (),
    interval: bool = False,
    counts: bool = False,
    reference: str = "",
    common: bool = False,
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> ResultTable:
    """Effort against a metric: by default a line per prompter and model, and a column per data set.

    metric: empty is what the protocol of the results reports, if all have the same, else dice. round: number of
    corrections after which to read the state; None: the last. by, columns: columns whose values define lines and
    columns. spread: ``seed``, ``hand`` or ``group``. difficulty: a line per target, the hardest first. correlate:
    numbers whose correlations are shown, or ``all``. The others are those of ``intrabench table``. The frame has every
    column; it shows those that ``intrabench table`` shows, and its `full` all of them.

    Raises:
        IntraBenchError: there are no results, or options are unknown or do not go together. What the table lacks
            (older sessions, damaged files, the rest of a run that was interrupted) is a warning.
    """
    # At the beginning, where nothing is local but the arguments.
    arguments = {name: value for name, value in locals().items() if name not in ("out", "plugin", "chosen")}
    from intrabench.reporting.display import ResultTable
    from intrabench.reporting.make_table import TableQuery, make_table

    _add(plugin)
    arguments["metric"] = made_spec(metric) if metric else ""
    arguments["correlate"] = _several_specs(correlate)
    arguments["by"] = by if isinstance(by, str) else ",".join(by)
    folder = _folder(out)
    found = make_table(folder, TableQuery(**arguments, selection=_selection(chosen)))
    _warn([folder], [*found.left_out, *filter(None, [found.lost])])
    return ResultTable.of(found.frame, found.parts)


@typed
def compare(
    a: Line,
    b: Line,
    out: Folder = None,
    *,
    metric: MetricLike = "",
    round: int | None = None,
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    by: str = "",
    size_bins: Sequence[float] = (),
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> Comparisons:
    """Compare two results folders, or two models or prompters in one, target by target; differences are B - A.

    by: pairs apart by ``label``, ``difficulty`` or ``difficulty_in_label``. size_bins: ends of groups of targets by
    size, in ml, small to large; none: thirds of each label.

    Returns:
        A comparison for each pair of lines, by what the two have in common. `Comparison.worse` says whether B is.

    Raises:
        IntraBenchError: a name is unknown, or nothing is in common. What the results lack is a warning.
    """
    from intrabench.reporting.comparison import make_comparison
    from intrabench.statistics.contests import folders_of

    _add(plugin)
    folder, one, other = _folder(out), made_spec(a), made_spec(b)
    found = make_comparison(
        folder,
        one,
        other,
        metric=made_spec(metric) if metric else "",
        round=round,
        aggregation=aggregation,
        failed=failed,
        empty=empty,
        by=by,
        size_bins=size_bins,
        selection=_selection(chosen),
    )
    _warn(folders_of(folder, one, other))
    return found


@typed
def compare_published(
    published: str,
    model: ModelLike,
    out: Folder = None,
    *,
    reference: str = "paper",
    correlation: Sequence[float] = (0.5, 0.7, 0.9),
    round: int | None = None,
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    plugin: Plugins = (),
    **chosen: Unpack[Sessions],
) -> PublishedClaims:
    """Compare your model with a model of a published table: the probability that yours is not better.

    published: as the paper prints it, or ``paper:sam2``. correlation: of both models' scores, which no paper prints.

    Returns:
        `frame`, with a line per row of the paper, round and data set, and `said`, what its probabilities assume.

    Raises:
        IntraBenchError: a name is unknown, or nothing is in common. What the results lack is a warning.
    """
    from intrabench.reporting.comparison import make_published_comparison

    _add(plugin)
    settings = {"metric": "dice", "round": round, "aggregation": aggregation, "failed": failed, "empty": empty}
    how: dict[str, Any] = {**settings, "reference": reference, "correlation": correlation}
    found = make_published_comparison(_folder(out), published, made_spec(model), **how, selection=_selection(chosen))
    _warn([_folder(out)])
    return found


@typed
def power(
    a: Line = "",
    b: Line = "",
    out: Folder = None,
    *,
    metric: MetricLike = "",
    round: int | None = None,
    difference: float | str = "",
    alpha: float = 0.05,
    power: float = 0.8,
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    by: str = "",
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> ResultTable:
    """How many patients a comparison needs, from the differences of two lines; or of every two models.

    a, b, by: as of `compare`. difference: the true difference to see, in units of the metric; "found": the one of the
    results; empty: 0.02 of scores from 0 to 1. alpha, power: the level of the two-sided paired t test, and the
    probability that it sees the difference.

    Returns:
        A row per pair of lines and data set, and for their average: `difference` found, `sd` of patients, `needed`
        patients, the `smallest` difference that these results could show, and the shares of variance.

    Raises:
        IntraBenchError: a name is unknown, or nothing is in common. What the results lack is a warning.
    """
    from intrabench.reporting.display import ResultTable
    from intrabench.reporting.power import make_power

    _add(plugin)
    one, other = ("" if side == "" else made_spec(side) for side in (a, b))
    given = {"metric": made_spec(metric) if metric else "", "round": round, "aggregation": aggregation}
    how: dict[str, Any] = {**given, "failed": failed, "empty": empty, "by": by, "alpha": alpha, "power": power}
    found = make_power(_folder(out), one, other, difference=str(difference), **how, selection=_selection(chosen))
    _warn(found.folders, found.left_out)
    return ResultTable.of(found.frame, found.parts)


@typed
def report(
    file: str | Path = "report.html",
    out: Folder = None,
    *,
    metric: MetricLike = "",
    title: str = "",
    views: int = 12,
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    size_bins: Sequence[float] = (),
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> Path:
    """Write one HTML file: which model is best at a budget, tables, curves, failures, and a viewer of targets.

    metric: the score that leads; empty is that of the protocol, else dice. title: the heading. views: number of targets
    per data set in the viewer. size_bins: as of `compare`. chosen: which sessions count.

    Returns:
        The file. What the results lack, and masks that cannot be read, are a warning.
    """
    from intrabench.reporting.page.page import write_report
    from intrabench.statistics.statistic import statistic_of

    _add(plugin)
    spec, folder = made_spec(metric) if metric else "", _folder(out)
    statistic = statistic_of(spec, aggregation, failed, empty, size_bins=size_bins)
    unread = write_report(folder, Path(file), views, statistic, title=title, selection=_selection(chosen))
    _warn([folder], unread)
    return Path(file)


@typed
def figures(
    folder: str | Path,
    out: Folder = None,
    *,
    metric: MetricLike = "",
    format: str | Sequence[str] = "png",
    correlate: MetricLike | Sequence[MetricLike] = (),
    size_bins: Sequence[float] = (),
    **chosen: Unpack[Chosen],
) -> list[Path]:
    """Draw curves, ranking, sizes and correlations as pictures for papers (png, svg or pdf) into a folder.

    correlate: as of `table`. size_bins: as of `compare`.

    Returns:
        The files. What the results lack is a warning.
    """
    from intrabench.reporting.figures import write_figures

    formats, spec = [format] if isinstance(format, str) else list(format), made_spec(metric) if metric else ""
    written, left_out = write_figures(
        _folder(out), Path(folder), formats, spec, _selection(chosen), _several_specs(correlate), size_bins
    )
    _warn([_folder(out)], left_out)
    return written


@typed
def methods(
    out: Folder = None,
    *,
    metric: MetricLike = "",
    aggregation: str = "protocol",
    failed: str = "worst",
    empty: str = "worst",
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> Methods:
    """What a paper says of the results: paragraphs, initial and final values, a reporting checklist, and citations.

    metric: empty is what the protocols of the results report first, if they agree; else dice.

    Returns:
        `written("text")`, ``"markdown"`` or ``"latex"`` gives all of it, `bibtex` the citations; `checklist` has what
        is reported, and what is not because the results do not tell it.

    Raises:
        IntraBenchError: there are no results, or a name is unknown. What the results lack is a warning.
    """
    from intrabench.publishing.methods.methods import make_methods

    _add(plugin)
    settings = {"metric": made_spec(metric), "aggregation": aggregation, "failed": failed, "empty": empty}
    found = make_methods(_folder(out), **settings, selection=_selection(chosen))
    _warn([_folder(out)], found.left_out)
    return found


@typed
def submit(
    folder: str | Path,
    *,
    name: str,
    contact: str,
    licence: str,
    notes: str = "",
    out: Folder = None,
    sample: int = 20,
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> Submission:
    """Make a new folder of results that a public board takes, and check it as the board does.

    name, contact: who submits, and the address of a mail or of a page. licence: of these results, such as
    ``CC-BY-4.0``. notes: what readers should know. sample: sessions whose prompts, and masks if kept, are part of it.

    Returns:
        The submission: its `folder`, its `statement`, with a line for each mean, and its `rows`.

    Raises:
        IntraBenchError: the results cannot be ranked, or the folder exists; then nothing is written. What is left out,
            and what to know before it is published, is a warning.
    """
    from intrabench.publishing.board.files import Submitter
    from intrabench.publishing.board.submit import submit as make

    _add(plugin)
    made, notices = make(
        _folder(out), Path(folder), Submitter(name, contact, licence, notes), sample, _selection(chosen)
    )
    _warn((), notices)
    return made


@typed
def merge(sources: str | Path | Iterable[str | Path], out: str | Path, *, newest: bool = False) -> Merged:
    """Copy the rows, turns, masks and records of several results folders into one; nothing in there is overwritten.

    newest: if results contradict each other, the newest count; without it, nothing is copied then.

    Returns:
        The numbers of files, and notes: contradictions, rounding, damaged parts, package versions.
    """
    from intrabench.results.merge import merge as copy

    several = [sources] if isinstance(sources, str | Path) else sources
    return copy([Path(source) for source in several], Path(out), newest=newest)


@typed
def compact(out: Folder = None) -> Compacted:
    """Put the many small files of a results folder together into few large ones; everything reads the same afterwards.

    Runs may go on meanwhile, and it may be killed at any moment. Runs, at their beginning and end, and `merge` do it
    by themselves from 256 small files on.

    Returns:
        How many parts were put together, and into how many packs.
    """
    from intrabench.results.compact import compact as put_together

    return put_together(_folder(out))


@typed
def score(
    out: Folder = None,
    *,
    metric: MetricLike | Sequence[MetricLike],
    plugin: Plugins = (),
    trust: bool = False,
    **chosen: Unpack[Chosen],
) -> Scored:
    """Measure further metrics of the masks that runs with `save_masks` stored; nothing is played.

    Each session with masks gets a value of each metric, as if it had been played with it, so a run with these metrics
    finds it finished. Scans must be here, models' weights need not be. trust: as of `verify`.

    Returns:
        How many sessions were scored, had the metrics before, and why others were not scored.
    """
    from intrabench.engine.score import score as measure
    from intrabench.engine.verify import Trust
    from intrabench.registry.objects import make_metric

    _add(plugin)
    metrics, permission = [make_metric(one) for one in _several(metric)], Trust(_paths(plugin), None, trust)
    return measure(_folder(out), metrics, permission, _selection(chosen))


@typed
def lesions(
    out: Folder = None,
    *,
    iou: float = 0.0,
    matching: str = "any",
    connectivity: int = 26,
    seed: int | None = None,
    round: int | None = None,
    plugin: Plugins = (),
    **chosen: Unpack[Chosen],
) -> pl.DataFrame:
    """What became of each lesion in the masks of runs with `save_masks`: the lines of ``intrabench export lesions``.

    iou, matching, connectivity: as of the metric ``lesion_recall``. seed: only this one. round: only the state
    after it.

    Raises:
        IntraBenchError: there are no masks, or options are unknown. Masks that cannot be read are a warning.
    """
    from intrabench.metrics.lesion_rows import LesionRows
    from intrabench.results.export_lesions import lesions_of_masks
    from intrabench.specs.specs import build

    _add(plugin)
    given = {"iou": str(iou), "matching": matching, "connectivity": str(connectivity)}
    folder, rules = _folder(out), build(LesionRows, given, "lesions")
    found = lesions_of_masks(folder, rules, seed=seed, round=round, selection=_selection(chosen))
    _warn([folder], [*found.left_out, *found.unread])
    return found.frame


@typed
def verify(
    out: Folder = None,
    *,
    sample: int = 20,
    seed: int = 0,
    plugin: Plugins = (),
    python: str | Path | None = None,
    trust: bool = False,
    timeout: float = 3600.0,
    **chosen: Unpack[Chosen],
) -> list[Verdict]:
    """Play random finished sessions again and compare; nothing is downloaded.

    python: an interpreter for the sessions of runs that used one. trust: whether to contact, open and run
    what only the folder names; without it, sessions that need that are ``unknown``. timeout: seconds for all of them.
    Models, prompters and data sets that were objects are found as long as the Python session lasts.

    Returns:
        A verdict for each session; those that differ have ``found`` "differs".
    """
    from intrabench.engine.options import interpreter
    from intrabench.engine.verify import Trust
    from intrabench.engine.verify import verify as verdicts

    _add(plugin)
    permission = Trust(_paths(plugin), None if python is None else interpreter(python), trust)
    return list(verdicts(_folder(out), sample, seed, permission, timeout, _selection(chosen)))


def _warn(folders: Iterable[Path], notices: Iterable[str] = ()) -> None:
    """Warn of what results lack: runs that did not finish, damaged parts, and the given sentences."""
    from intrabench.results.parts import damaged_parts, left_out_columns
    from intrabench.statistics.soundness import is_partial

    lacking = [
        notice
        for folder in folders
        for notice in (is_partial(folder), *damaged_parts(folder), *left_out_columns(folder))
    ]
    if text := "\n".join(filter(None, [*notices, *lacking])):
        warnings.warn(text, PartialResults, stacklevel=5)


def _several(given: MetricLike | Sequence[MetricLike]) -> Sequence[MetricLike]:
    return [given] if isinstance(given, str) or not isinstance(given, Sequence) else given


def _several_specs(given: MetricLike | Sequence[MetricLike]) -> list[str]:
    return [made_spec(one) for one in _several(given)]


def _selection(chosen: Sessions) -> Selection:
    """What options choose, which may also be objects."""
    from intrabench.results.selection import selection

    texts = {}
    for name, given in chosen.items():
        several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        texts[name] = [made_spec(one) for one in several]
    return selection(**texts)


def _add(plugin: Plugins) -> None:
    from intrabench.registry import registry

    registry.add_plugins(_paths(plugin))


def _paths(plugin: Plugins) -> list[Path]:
    return [Path(path) for path in ([plugin] if isinstance(plugin, str | Path) else plugin)]


def _folder(out: Folder) -> Path:
    from intrabench.workspace import results_folder

    return results_folder(None if out is None else Path(out))
