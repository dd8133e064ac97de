"""Options that only `intrabench run` has, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.shared import flag

Refine = Annotated[list[str], o.refine]
Stop = Annotated[str, typer.Option("--stop", help="Stop rule, e.g. dice=0.9,interactions=30,seconds=60.")]
Joint = Annotated[
    str, typer.Option("--joint", help="Play the targets of a case together, e.g. others=negative,overlap=first.")
]
Seed = Annotated[list[str], o.seeds]
Metric = Annotated[list[str], o.metric]
Only = Annotated[list[str], typer.Option("--only", help="Run only these rows of the protocol, e.g. '3B Inter*'.")]
Memory = Annotated[
    int,
    typer.Option(
        "--memory",
        help="MiB of embeddings in memory, the rest is on disk; as much for what models remember of sessions.",
    ),
]
Compile = Annotated[bool, flag("--compile", help="Compile image encoders with torch.")]
CacheEmbeddings = Annotated[
    bool | None,
    flag("--cache-embeddings/--no-cache-embeddings", help="Keep embeddings across runs. Default: of models that ship."),
]
CacheGb = Annotated[
    float | None, typer.Option("--cache-gb", metavar="GB", help="Disk for kept embeddings. Default: 20.")
]
SaveMasks = Annotated[bool, flag("--save-masks", help="Store the mask of every round.")]
Strict = Annotated[bool, flag("--strict", help="Never convert prompts for a model.")]
DryRun = Annotated[bool, flag("--dry-run", help="Show what would be run and downloaded.")]
Workers = Annotated[
    str, typer.Option("--workers", metavar="N", help="Processes that play: auto, a number, 0 for this one.")
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Limit for a batch of sessions, and for each encoding.")
]
Dask = Annotated[
    str, typer.Option("--dask", metavar="WHERE", help="Dask cluster: local:4, tcp://HOST:8786 or FILE.yaml.")
]
Collect = Annotated[bool, flag("--collect", help="Bring rows back from a cluster that lacks the folder.")]
Fetch = Annotated[bool, flag("--fetch", help="Also download weights that are missing and may be downloaded.")]
FailFast = Annotated[bool, flag("--fail-fast", help="End the run with the first failure, and show where.")]
