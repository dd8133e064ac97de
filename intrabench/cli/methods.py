"""The command that writes what a paper says of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from intrabench.cli.console import echo, echo_sentences
from intrabench.cli.report import Empty, Failed, How, Metric
from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Plugins, add_plugins, flag
from intrabench.errors import IntraBenchError


def methods(
    out: Out = None,
    metric: Metric = "",
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    markdown: Annotated[bool, flag("--markdown", help="As Markdown, with citations as \\[@key].")] = False,
    latex: Annotated[bool, flag("--latex", help=r"As LaTeX, with citations as \cite{key}.")] = False,
    bib: Annotated[
        Path | None, typer.Option("--bib", metavar="FILE", help="Also write the citations to FILE.bib, for BibTeX.")
    ] = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write the methods for a paper: paragraphs, initial and final values, a reporting checklist, and citations.

    What the results do not tell is listed as "not reported".
    """
    if markdown and latex:
        raise IntraBenchError("--markdown and --latex are different outputs; give one of them")
    from intrabench.files.atomic import atomically, writing
    from intrabench.publishing.methods.methods import make_methods
    from intrabench.statistics.soundness import is_partial
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    found = make_methods(folder, metric=metric, aggregation=aggregation, failed=failed, empty=empty)
    if bib is not None:
        with writing(bib), atomically(bib, durable=False) as part:
            part.write_text(found.bibtex, encoding="utf-8")
    for block in found.written("markdown" if markdown else "latex" if latex else "text").rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if markdown or latex or len(lines) > 1:
            echo(*lines, "")
        else:
            echo_sentences(block)
            echo("")
    if bib is not None:
        echo(f"wrote {len(found.bibliography.entries)} citations to {bib}", err=True)
    echo(*found.left_out, *filter(None, [is_partial(folder)]), err=True)
    tell_damage(folder)
