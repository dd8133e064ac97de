"""Commands for data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.console import echo, echo_sentences, note
from intrabench.cli.options import completes
from intrabench.cli.shared import Cases, Json, Plugins, add_plugins, flag, interruptible, show, show_datasets
from intrabench.cli.verbosity import quiet
from intrabench.errors import several

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.datasets.cases.stored_case import CaseIndex

data_app = typer.Typer(help="Download, list, check, verify and remove data sets.", no_args_is_help=True)

Names = Annotated[
    list[str], typer.Argument(help="Data set specs or paths of folders.", autocompletion=completes("datasets"))
]
Root = Annotated[Path | None, typer.Option("--root", help="Data folder instead of INTRABENCH_DATA.")]


@data_app.command("get")
def data_get(
    names: Names,
    cases: Cases = [],  # noqa: B006
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=0, max=1024, help="Cases at once, 0: in this process. Default: 1.")
    ] = None,
    root: Root = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Download and convert data sets; existing cases are kept."""
    from intrabench.engine.executors.placement import requested
    from intrabench.engine.make_job import make_preparation
    from intrabench.engine.options import Options
    from intrabench.engine.prepare_cases import prepare_cases
    from intrabench.engine.progress.display import reporting
    from intrabench.engine.signals import ending_softly

    def tell(dataset: Dataset, case: str, index: CaseIndex) -> None:
        note(f"{dataset.argument}, case {case}: {several(len(index.targets), 'target')}")

    _use(root)
    number = 1 if jobs is None and requested("auto") != 0 else jobs or 0
    options = Options(dataset=names, cases=cases, plugin=plugin, workers=str(number))
    with reporting(quiet=quiet()) as reporter, interruptible(reporter, "cases"), ending_softly():
        job = make_preparation(options)
        for dataset in job.datasets:
            reporter.note(f"{dataset.argument}: licence {dataset.card.licence}")
        complete = prepare_cases(job, options, reporter, tell)
    if not complete:
        raise typer.Exit(1)


@data_app.command("list")
def data_list(
    name: Annotated[str | None, typer.Argument(autocompletion=completes("datasets"))] = None,
    json: Json = False,
    root: Root = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """List data sets, or the cases and targets of one."""
    from intrabench.cli.describe import targets_of

    _use(root)
    add_plugins(plugin)
    if name is None:
        show_datasets(json)
    else:
        show(targets_of(name), json)


@data_app.command("urls")
def data_urls(names: Names, cases: Cases = [], plugin: Plugins = []) -> None:  # noqa: B006
    """Print the addresses of the files of data sets, one per line."""
    from intrabench.datasets.cases.selection import select_cases
    from intrabench.registry import registry

    add_plugins(plugin)
    for name in names:
        dataset = registry.make("datasets", name)
        sources = list(dataset.sources())
        if not sources or cases:
            sources += [source for case in select_cases(dataset, cases) for source in dataset.case_sources(case)]
        for source in sources:
            echo("\t".join([source.title, *source.urls()]))


@data_app.command("check")
def data_check(
    names: Names,
    cases: Cases = [],  # noqa: B006
    every: Annotated[
        bool, flag("--all", help="Show all cases, targets and sentences, also of many that are alike.")
    ] = False,
    json: Json = False,
    write: Annotated[
        bool, flag("--write", help="First write the rule that is proposed for a folder into its dataset.toml.")
    ] = False,
    root: Root = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Show what data sets or folders contain, with warnings; stores nothing. Exit code 1: unusable cases."""
    from dataclasses import asdict
    from itertools import tee
    from json import dumps

    from intrabench.datasets.cases.data_check import closing, listing, look_at, opening, warnings_of
    from intrabench.datasets.cases.notes import once
    from intrabench.datasets.cases.selection import select_cases
    from intrabench.datasets.folder.folder import write_rule
    from intrabench.engine.progress.display import showing_steps
    from intrabench.registry import registry

    _use(root)
    add_plugins(plugin)
    unusable = 0
    for name in names:
        if write:
            note(f"wrote {write_rule(Path(name))}", err=json)
        dataset = registry.make("datasets", name)
        with showing_steps(quiet=quiet()):
            shown, kept = tee(look_at(dataset, select_cases(dataset, cases)))
            if not json:
                echo(opening(dataset))
                for line in listing(shown, every):  # each as soon as it is known
                    echo(line)
            found = list(kept)
        if json:
            warnings = once(warnings_of(dataset, found), every=True)
            echo(*dumps({"cases": [asdict(one) for one in found], "warnings": warnings}, indent=1).split("\n"))
        else:
            echo_sentences(*closing(dataset, found, every), hanging="    ")
        unusable += sum(bool(one.problem) for one in found)
    if unusable:
        raise typer.Exit(1)


@data_app.command("verify")
def data_verify(names: Names, root: Root = None, plugin: Plugins = []) -> None:  # noqa: B006
    """Check the stored files of data sets against their checksums."""
    from intrabench.datasets.cases import store
    from intrabench.registry import registry

    _use(root)
    add_plugins(plugin)
    problems = [f"{name}: {text}" for name in names for text in store.verify(registry.make("datasets", name))]
    for problem in problems:
        echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
    note(f"{', '.join(names)}: all files are intact")


@data_app.command("remove")
def data_remove(names: Names, root: Root = None, plugin: Plugins = []) -> None:  # noqa: B006
    """Delete the downloads and converted cases of data sets; downloads shared with other data sets are kept."""
    from intrabench.datasets.cases import store
    from intrabench.registry import registry

    _use(root)
    add_plugins(plugin)
    removed = [registry.make("datasets", name) for name in names]
    kept = [registry.make("datasets", name) for name in registry.entries("datasets")]
    downloads = store.downloads_of()
    for dataset in removed:
        others = [other for other in kept if other.name not in {one.name for one in removed}]
        shared = {source.place(downloads) for other in others for source in other.sources()}
        note(f"{dataset.short_spec}: {store.remove(dataset, shared) / 1e6:.1f} MB freed")


def _use(root: Path | None) -> None:
    """Set the data folder of this process and of its child processes."""
    if root is not None:
        os.environ["INTRABENCH_DATA"] = str(root)
