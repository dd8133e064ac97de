"""Options, checks and output that several groups of commands share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from intrabench.cli.console import echo, print_columns
from intrabench.cli.options import published
from intrabench.errors import IntraBenchError, Unfinished
from intrabench.specs.values import holds

if TYPE_CHECKING:
    from intrabench.engine.progress.reporter import Reporter

MORE_TO_DO = 75
"""Exit code of what ended early by itself or by a signal, EX_TEMPFAIL of sysexits.h: the same command continues."""

INTERRUPTED = 130
"""Exit code of what was ended by Ctrl-C, as shells have it: 128 and the number of SIGINT."""


def flag(*names: str, **more: Any) -> Any:
    """An option that is given or not; its help shows no type."""
    return typer.Option(*names, metavar="", **more)


Plugins = Annotated[list[Path], typer.Option("--plugin", help="Python file with your own classes.")]
Cases = Annotated[list[str], typer.Option("--cases", help="Cases: name, glob, first:N, subset:NAME or @FILE.")]
Targets = Annotated[
    list[str],
    typer.Option(
        "--targets", help="Targets: glob of ids or labels, e.g. 'vertebra.2*'; bounds, e.g. 'ml>=1', 'slices>5'."
    ),
]
Trusts = Annotated[
    bool,
    flag("--trust", help="Contact, open and run what only the folder names: addresses, paths, repositories, programs."),
]
CheckTimeout = Annotated[
    float, typer.Option("--timeout", help="Seconds for all sessions together; later ones are not verified.")
]
Json = Annotated[bool, flag("--json", help="Machine-readable output.")]


@contextmanager
def interruptible(reporter: Reporter, what: str) -> Iterator[None]:
    """Exit with `INTERRUPTED` or `MORE_TO_DO` if what runs meanwhile does not end; `what` it finished is kept."""
    from intrabench.engine.signals import Asked, undisturbed

    try:
        yield
    except KeyboardInterrupt as error:
        undisturbed()
        reporter.say(f"interrupted; finished {what} are kept, and the same command continues")
        raise typer.Exit(MORE_TO_DO if isinstance(error, Asked) else INTERRUPTED) from None
    except Unfinished as error:
        reporter.say(str(error))
        raise typer.Exit(MORE_TO_DO) from None


def listing(what: str, plugins: list[Path]) -> list[dict[str, str]]:
    """Name, kind, summary and origin of all that a room has, or of the protocols."""
    from intrabench.registry import registry
    from intrabench.registry.summaries import MACHINE_TIME, SUMMARIES, SUMMARY
    from intrabench.specs.specs import nearest

    add_plugins(plugins)
    if what == "protocols":
        from intrabench.protocols import PROTOCOLS

        return [
            {"name": p.id, "kind": "protocol", "summary": p.summary, "origin": "intrabench"} for p in PROTOCOLS.values()
        ]
    if what not in registry.ROOMS:
        choices = (*registry.ROOMS, "protocols")
        raise IntraBenchError(f"there is no list of {what!r}{nearest(what, choices)}; give one of {', '.join(choices)}")
    listed = [
        {
            "name": entry.name,
            "kind": entry.kind or registry.ROOMS[what],
            "summary": entry.summary,
            "origin": entry.origin,
        }
        for entry in registry.entries(what).values()
    ]
    presets = published("") if what == "models" else []
    listed += [
        {"name": name, "kind": "preset", "summary": summary, "origin": "intrabench"} for name, summary in presets
    ]
    summaries = {**SUMMARIES, **MACHINE_TIME} if what == "metrics" else {}
    return listed + [
        {"name": name, "kind": SUMMARY, "summary": summary, "origin": "intrabench"}
        for name, summary in summaries.items()
    ]


def problems(what: str) -> list[str]:
    """What is wrong with the user's files of a room; there are no such files for protocols."""
    from intrabench.registry import registry

    return [problem for room in registry.ROOMS if room == what for problem in registry.problems(room)]


def add_plugins(plugins: list[Path]) -> None:
    """Register the classes of plug-in files."""
    if plugins:
        from intrabench.registry import registry

        registry.add_plugins(plugins)


def show_names(rows: Sequence[Mapping[str, str]], json: bool) -> None:
    """Print the rows of `listing`: those that ship by their kind, then those of each other origin, under headings."""
    if json:
        show(rows, json)
        return
    width = max((len(row["name"]) for row in rows), default=0)
    groups: dict[str, list[Mapping[str, str]]] = {}
    for row in sorted(rows, key=_place):
        groups.setdefault(_heading(row), []).append(row)
    for number, (heading, members) in enumerate(groups.items()):
        if len(groups) > 1:
            echo(*[""] * (number > 0), heading)
        print_columns(
            [{"name": f"{row['name']:<{width}}", "summary": row["summary"]} for row in members], heading=False
        )


_KINDS = ("", "refinement", "modifier", "metric of superpixels", "summary of sessions", "preset")
_USE = {
    "refinement": ", as PROMPTER+REFINEMENT or --refine",
    "modifier": ", as PROMPTER+MODIFIER",
    "summary of sessions": ", a number of all rounds, for --metric of tables",
}
"""In which order the kinds of a room are listed, and how they are written."""


def _place(row: Mapping[str, str]) -> tuple[int, str]:
    """What ships comes first, by its kind, then the workspace, then all else; within a group the order stays."""
    if row["origin"] == "intrabench":
        return (_KINDS.index(row["kind"]) if row["kind"] in _KINDS else 0), ""
    folder = _folder(row["origin"])
    return len(_KINDS) + folder.startswith("From"), folder


def _heading(row: Mapping[str, str]) -> str:
    one, of, what = row["kind"].replace("dataset", "data set").partition(" of ")
    many = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    kind = f"{many}{of}{what}".capitalize()
    return f"{kind}{_USE.get(row['kind'], '')}:" if row["origin"] == "intrabench" else f"{_folder(row['origin'])}:"


def _folder(origin: str) -> str:
    """The workspace folder of a file, else the origin as it is."""
    from intrabench.workspace import current

    workspace = current()
    path = Path(origin)
    if workspace is not None and path.parent.parent == workspace.root:
        return f"In {path.parent.name}/ of this workspace"
    return f"From {origin}"


def show(rows: Sequence[Mapping[str, Any]], json: bool, *, heading: bool = False, spared: Sequence[str] = ()) -> None:
    """Print rows as JSON, or as `print_columns`."""
    if json:
        import json as writer

        echo(*writer.dumps(rows, indent=1).split("\n"))
    else:
        print_columns(rows, heading=heading, spared=spared)


def show_datasets(json: bool) -> None:
    """Print all data sets; what many of them lack is left out first where there is no room."""
    from intrabench.cli.describe import datasets

    show(datasets(json), json, heading=True, spared=("paper", "targets", "cases"))


METAVARS = ("PATH", "FILE", "FOLDER")
"""What stands for a path in the help of options that are text because they may also be something else."""


def refuse_empty(app: typer.Typer, words: Sequence[str]) -> None:
    """Refuse words of a command line that are empty where a path, a name or a spec is meant.

    Raises:
        IntraBenchError: there is one; it names the option.
    """
    # To know all options, the functions of all commands have to be inspected, which only such a rare line is worth.
    if not any(word == "" or word.endswith("=") for word in words):
        return
    paths, others = set[str](), set[str]()
    for option, is_path in _options(app):
        (paths if is_path else others).add(option)
    for before, word in zip(("", *words), words, strict=False):
        option = word.removesuffix("=") if word.endswith("=") else before
        if word == "" or (word.endswith("=") and option in paths):
            if option in paths:
                raise IntraBenchError(f"{option} is empty; give a path, or omit it")
            if option not in others:
                raise IntraBenchError("an argument is empty; give a name or a path, or omit it")


def _options(app: typer.Typer) -> Iterator[tuple[str, bool]]:
    """The options of all commands that take a value, and whether that is a path."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _options(group.typer_instance)
    for command in app.registered_commands:
        assert command.callback is not None
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            for option in (one for one in getattr(hint, "__metadata__", ()) if hasattr(one, "param_decls")):
                if not isinstance(option, typer.models.ArgumentInfo) and not holds(hint, bool):
                    words = [word for word in option.param_decls or () if word.startswith("-")]
                    path = holds(hint, Path) or option.metavar in METAVARS
                    yield from ((word, path) for word in words or [f"--{name.replace('_', '-')}"])
