"""The options of `intrabench run`, with their help, under the headings of its help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from intrabench.cli import options as o
from intrabench.cli.config import Config
from intrabench.cli.results import Out
from intrabench.cli.shared import Cases, Plugins, Targets, flag

Panel = dict[str, tuple[Any, Any]]
"""Options by name: the type with its help, and the default."""


def text(name: str, help: str, kind: Any = str, **more: Any) -> Any:
    """The type of an option that takes a value."""
    return Annotated[kind, typer.Option(name, help=help, **more)]


def switch(name: str, help: str, kind: Any = bool) -> Any:
    """The type of an option that takes none."""
    return Annotated[kind, flag(name, help=help)]


PANELS: dict[str, Panel] = {
    "What is played": {
        "config": (Config, None),
        "model": (o.Models, []),
        "prompter": (o.Prompters, []),
        "refine": (Annotated[list[str], o.refine], []),
        "hand": (o.Hand, ""),
        "dataset": (o.Datasets, []),
        "perturb": (o.Perturb, []),
        "cases": (Cases, []),
        "targets": (Targets, []),
        "seed": (Annotated[list[str], o.seeds], []),
    },
    "By which rules": {
        "protocol": (o.Protocol, "basic@2"),
        "only": (text("--only", "Run only these rows of the protocol, e.g. '3B Inter*'.", list[str]), []),
        "rounds": (o.Rounds, None),
        "stop": (text("--stop", "Stop rule, e.g. dice=0.9,interactions=30,seconds=60."), ""),
        "joint": (text("--joint", "Play the targets of a case together, e.g. others=negative,overlap=first."), ""),
        "metric": (Annotated[list[str], o.metric], []),
        "effort": (o.Effort, None),
        "strict": (switch("--strict", "Never convert prompts for a model."), False),
    },
    "Where results go": {
        "out": (Out, None),
        "save_masks": (switch("--save-masks", "Store the mask of every round."), False),
        "note": (text("--note", "Words about the run for its record and `intrabench status`."), ""),
        "dry_run": (switch("--dry-run", "Show what would be run and downloaded, and about what it takes."), False),
        "trial": (
            switch("--trial", "In a dry run, play a session of each model that has no rows, to estimate."),
            False,
        ),
        "fail_fast": (switch("--fail-fast", "End the run with the first failure, and show where."), False),
        "max_failures": (
            text(
                "--max-failures",
                "End the run once N sessions failed, or P% of those played, if these are at least 20.",
                metavar="N|P%",
            ),
            "",
        ),
    },
    "Models": {
        "weights": (o.Weights, None),
        "fetch": (switch("--fetch", "Also download weights that are missing and may be downloaded."), False),
        "device": (o.Device, "auto"),
        "dtype": (o.Dtype, "float32"),
        "batch": (o.Batch, "fixed"),
        "compile": (switch("--compile", "Compile image encoders with torch."), False),
        "python": (o.Python, None),
        "plugin": (Plugins, []),
    },
    "Memory and disk": {
        "memory": (
            text(
                "--memory",
                "MiB of embeddings in memory, the rest is on disk; as much for what models remember of sessions.",
                int,
            ),
            512,
        ),
        "cache_embeddings": (
            switch(
                "--cache-embeddings/--no-cache-embeddings",
                "Keep embeddings across runs. Default: of models that ship.",
                bool | None,
            ),
            None,
        ),
        "cache_gb": (text("--cache-gb", "Disk for kept embeddings. Default: 20.", float | None, metavar="GB"), None),
    },
    "Workers and clusters": {
        "workers": (text("--workers", "Processes that play: auto, a number, 0 for this one.", metavar="N"), "auto"),
        "timeout": (
            text("--timeout", "Limit for a batch of sessions, and for each encoding.", float, metavar="SECONDS"),
            600.0,
        ),
        "dask": (text("--dask", "Dask cluster: local:4, tcp://HOST:8786 or FILE.yaml.", metavar="WHERE"), ""),
        "collect": (switch("--collect", "Bring rows back from a cluster that lacks the folder."), False),
    },
}
