"""The run file: options of ``intrabench run`` as TOML, or as the record that every run leaves in its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    from intrabench.registry.contract import Room
    from intrabench.specs.specs import Reached


def _take(context: typer.Context, file: Path | None) -> Path | None:
    """Let the options of the file be the defaults of the command; what is typed counts before them."""
    if file is not None and not context.resilient_parsing:
        several = {option.name for option in context.command.params if getattr(option, "multiple", False)}
        pairs = read_run_file(file).items()
        context.default_map = {
            name: [str(one) for one in (value if isinstance(value, list) else [value])] if name in several else value
            for name, value in pairs
        }
    return file


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Options from a TOML file, or from the record of a run, RESULTS/runs/RUN.json; others count before them.",
        is_eager=True,
        callback=_take,
    ),
]


def read_run_file(file: Path) -> dict[str, Any]:
    """The options in a run file, by the names that they have in Python (``save_masks``); ``~`` is the home folder.

    Raises:
        IntraBenchError: it cannot be read, or has something that is no option of a run.
    """
    from intrabench.engine.options import Options
    from intrabench.files.documents import read_toml
    from intrabench.results.runs import at_home, read_record
    from intrabench.specs.specs import nearest

    try:
        if file.suffix == ".json":
            options = _of_record(file, read_record(file.absolute().parents[1], file.stem))
        else:
            options = read_toml(file, {})
    except FileNotFoundError:
        raise IntraBenchError(f"--config {file} does not exist; give a TOML file with options of a run") from None
    names = [option.name for option in fields(Options)]
    for name in options:
        if name not in names:
            raise IntraBenchError(f"{file}: a run has no option {name!r}{nearest(name, names)}; remove it")

    def expanded(value: Any) -> Any:
        if isinstance(value, list):
            return [expanded(one) for one in value]
        return at_home(value) if isinstance(value, str) else value

    return {name: expanded(value) for name, value in options.items() if value is not None}


def check_config(context: typer.Context, file: Path | None) -> None:
    """Refuse a record of a run that alone names files, addresses, repositories or programs: it may be somebody else's.

    A TOML file is written by hand, as a script is. What is typed beside the record counts as typed.

    Raises:
        IntraBenchError: the record names such things.
    """
    if file is None or file.suffix != ".json":
        return
    from intrabench.registry import registry
    from intrabench.registry.reach import refusal

    sources = {name: context.get_parameter_source(name) for name in context.params}
    names = [name for name, source in sources.items() if source is not None and source.name == "DEFAULT_MAP"]
    for reached in (_named_directly, _named_in_specs):
        found = [(name, one) for name in names for one in reached(name, _texts(context.params[name]))]
        if found:
            type_it = " and ".join(dict.fromkeys(f"--{name}" for name, _ in found))
            raise IntraBenchError(refusal((one for _, one in found), str(file), f"type {type_it} to allow it"))
        registry.add_plugins(map(Path, _texts(context.params["plugin"])))  # before its classes are looked up


def _texts(value: Any) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list | tuple) else [value] if value else [])]


def _named_directly(name: str, values: list[str]) -> Iterator[Reached]:
    """What an option itself names."""
    from intrabench.models.weights.registry import RANDOM
    from intrabench.specs.specs import Kind, Reached

    kinds: dict[str, Kind] = {"plugin": "program", "python": "program", "weights": "read", "dask": "network"}
    yield from (Reached(kinds[name], text) for text in values if name in kinds and text != RANDOM)


def _named_in_specs(name: str, values: list[str]) -> Iterator[Reached]:
    """What the specs of an option reach."""
    from intrabench.datasets.cases.trusted_folders import is_given
    from intrabench.registry.reach import reaches

    rooms: dict[str, Room] = {"model": "models", "dataset": "datasets", "metric": "metrics"}
    rooms |= {"prompter": "prompters", "refine": "prompters"}
    for spec in values if name in rooms else ():
        if not (is_given(spec) if name == "dataset" else name == "metric" and ":" not in spec):
            yield from reaches(rooms[name], spec)


def _of_record(file: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The options in the record of a run; those that were never given, or are no longer known by a file, are left out.

    Raises:
        IntraBenchError: it is no record.
    """
    if not isinstance(options := record.get("options"), dict):
        what = "does not exist" if not file.exists() else "is no record of a run"
        raise IntraBenchError(f"--config {file} {what}; give RESULTS/runs/RUN.json, or a TOML file")
    if options.get("effort"):
        raise IntraBenchError(
            f"{file} counts the seconds of a calibration, {options['effort']}, whose file it does not name; write its "
            'options into a TOML file, with effort = "FILE"'
        )
    return options
