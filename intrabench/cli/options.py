"""Options of several commands, with their help and shell completion."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    from intrabench.registry.contract import Room


def completes(room: Room) -> Callable[[str], list[tuple[str, str]]]:
    """A completer of the names in a room; nothing of them is imported."""

    def names(incomplete: str) -> list[tuple[str, str]]:
        from intrabench.registry import registry

        first, plus, last = incomplete.rpartition("+")  # PROMPTER+REFINEMENT
        presets = published(incomplete) if room == "models" else []
        try:
            items = registry.entries(room).values()
        except IntraBenchError:  # the settings of a workspace: the command itself says what is wrong with them
            return []
        return [(first + plus + entry.name, entry.summary) for entry in items if entry.name.startswith(last)] + presets

    return names


def published(beginning: str) -> list[tuple[str, str]]:
    """Presets of models whose names begin so, ``paper:sam``, each with a sentence."""
    from intrabench.protocols.presets import PRESETS

    return [
        (name, f"{spec}, as in the IntRaBench paper") for name, spec in PRESETS.items() if name.startswith(beginning)
    ]


def anything(incomplete: str) -> list[tuple[str, str]]:
    """Completes every name that `intrabench info` describes."""
    from intrabench.registry.contract import BASES
    from intrabench.registry.summaries import MACHINE_TIME, SUMMARIES

    numbers = [one for one in {**SUMMARIES, **MACHINE_TIME}.items() if one[0].startswith(incomplete)]
    return [*_protocols(incomplete), *numbers, *(found for room in BASES for found in completes(room)(incomplete))]


def lists(incomplete: str) -> list[str]:
    """Completes what `intrabench list` lists."""
    from intrabench.registry.contract import BASES

    return [name for name in (*BASES, "protocols") if name.startswith(incomplete)]


def _protocols(incomplete: str) -> list[tuple[str, str]]:
    from intrabench.protocols import PROTOCOLS

    return [(one.id, one.summary) for one in PROTOCOLS.values() if one.id.startswith(incomplete)]


model = typer.Option("--model", "-m", help="Model spec, e.g. litemedsam.", autocompletion=completes("models"))
prompter = typer.Option(
    "--prompter", "-p", help="Prompter spec, e.g. box_interp:n=3.", autocompletion=completes("prompters")
)
dataset = typer.Option("--dataset", "-d", help="Data set spec or folder.", autocompletion=completes("datasets"))
refine = typer.Option("--refine", help="Refinement of answers, e.g. scribble.", autocompletion=completes("prompters"))
metric = typer.Option(
    "--metric", help="Metric besides the protocol's, e.g. lesion_f1.", autocompletion=completes("metrics")
)
seed = typer.Option("--seed", help="Seed of all random numbers of the simulated user.")
seeds = typer.Option(
    "--seed",
    metavar="N",
    help=f"{seed.help} Several: 0..9, or 0,1,2. Default: 0; of rclicks-users@1, one for each real click.",
)

ROUNDS_HELP = "Number of corrections after the first prompts. Default: 5 with a refinement, else 0."

OF_RESULTS: dict[str, Any] = {
    "model": Annotated[
        list[str],
        typer.Option(
            "--model", "-m", help="Only these models: as in tables, spec or glob.", autocompletion=completes("models")
        ),
    ],
    "prompter": Annotated[
        list[str],
        typer.Option("--prompter", "-p", help="Only these prompters.", autocompletion=completes("prompters")),
    ],
    "dataset": Annotated[
        list[str], typer.Option("--dataset", "-d", help="Only these data sets.", autocompletion=completes("datasets"))
    ],
    "cases": Annotated[
        list[str], typer.Option("--cases", help="Only these cases: name, glob, first:N, subset:NAME or @FILE.")
    ],
    "targets": Annotated[
        list[str], typer.Option("--targets", help="Only these targets: glob of ids or labels; bounds, e.g. 'ml>=1'.")
    ],
    "protocol": Annotated[
        list[str],
        typer.Option("--protocol", help="Only sessions of these, e.g. rclicks@1, or A,B.", autocompletion=_protocols),
    ],
}
"""Options that choose sessions of results; each may be given several times."""


def of_results(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options of `OF_RESULTS`, all if none is named; it gets what they choose as `selection`."""
    chosen = {name: OF_RESULTS[name] for name in names or OF_RESULTS}

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**given: Any) -> None:
            from intrabench.results.selection import selection

            words = {name: given.pop(name) for name in chosen}
            command(**given, selection=selection(**words))

        hints = get_type_hints(command, localns={"Selection": object}, include_extras=True)
        own = [
            one.replace(annotation=hints[one.name])
            for one in signature(command).parameters.values()
            if one.name != "selection"
        ]
        place = next((at for at, one in enumerate(own) if one.name in ("plugin", "json", "csv", "format")), len(own))
        more = [Parameter(name, Parameter.KEYWORD_ONLY, default=[], annotation=of) for name, of in chosen.items()]
        all_of_them = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own[:place], *more, *own[place:])]
        call.__signature__ = Signature(all_of_them)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in all_of_them}
        return call

    return with_options


Models = Annotated[list[str], model]
Prompters = Annotated[list[str], prompter]
Datasets = Annotated[list[str], dataset]
Perturb = Annotated[
    list[str],
    typer.Option("--perturb", help="Change the images: noise:sigma=0.1, blur, gamma, ...; none: also as they are."),
]
Hand = Annotated[str, typer.Option("--hand", help="User error model, e.g. jitter_mm=2,miss_rate=0.1; or FILE.toml.")]
Effort = Annotated[
    str | None, typer.Option("--effort", metavar="FILE", help="Seconds of actions: a file of `intrabench calibrate`.")
]
Window = Annotated[
    str,
    typer.Option(
        "--window",
        help="Window of CT: 'soft tissue', lung or bone; or of any scan, BLACK,WHITE. Default: as fits the target.",
    ),
]
Orientation = Annotated[
    Literal["radiological", "neurological"],
    typer.Option("--orientation", help="Which side is the patient's right: radiological: left, neurological: right."),
]
Plane = Annotated[
    str, typer.Option("--plane", help="Slices that the user reads: acquisition, axial, coronal or sagittal.")
]
Rounds = Annotated[int | None, typer.Option("--rounds", help=ROUNDS_HELP)]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="Protocol, e.g. basic@2:plane=coronal; see `intrabench list protocols`.",
        autocompletion=_protocols,
    ),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Dtype = Annotated[str, typer.Option("--dtype", help="float32, bfloat16 or float16.")]
Batch = Annotated[str, typer.Option("--batch", help="Batch size: fixed, auto, or a number (1 to measure latency).")]
Weights = Annotated[str | None, typer.Option("--weights", metavar="PATH", help="Path of a checkpoint, or `random`.")]
Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="Interpreter to run models in, e.g. ENV/bin/python.")
]
