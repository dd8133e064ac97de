"""Pages of the public names of Python; mkdocstrings puts their docstrings in."""

from __future__ import annotations

from intrabench import _PLACES

TITLES = {
    "api": ("functions", "Functions", "The command line as functions. [Python](../python.md) introduces them."),
    "prompters": ("prompters", "Prompters", "Base classes of simulated users, and what these see."),
    "prompts": ("prompts", "Prompts and turns", "What a user gives at once, and what the hand did for it."),
    "models": ("models", "Models", "Base classes of models, requests and answers."),
    "datasets": ("data_sets", "Data sets", "Base class and card of a data set, and what helps to read files."),
    "metrics": ("metrics", "Metrics", "Base classes of metrics, and what these see."),
    "mask": ("volumes", "Volumes, masks and targets", "Arrays, their geometry, and boxed masks."),
    "clickability": ("clicks", "Models of clicks", "Where people click."),
    "superpixels": ("superpixels", "Superpixels", "Base classes of methods that divide an image."),
    "errors": ("errors", "Errors and parameters", "What is raised, and parameters that show in a spec only when set."),
}
"""By the first part of a module: file, title and introduction of the page that has it."""
TOGETHER = {"fetch": "datasets", "target": "mask", "turns": "prompts", "volume": "mask", "specs": "errors"}
"""Parts that share a page with another one."""


def pages() -> dict[str, str]:
    """Markdown by file name; README.md lists the pages."""
    names: dict[str, list[str]] = {part: [] for part in TITLES}
    for module, public in _PLACES.items():
        part = module.partition(".")[0]
        names[TOGETHER.get(part, part)] += [f"intrabench.{module}.{name}" for name in public]
    made = {}
    index = ["# Python reference", "", "All public names. Import each from `intrabench`.", ""]
    index += ["| page | names |", "|---|---|"]
    for part, (file, title, about) in TITLES.items():
        made[f"{file}.md"] = "\n\n".join([f"# {title}", about, *(f"::: {name}" for name in names[part])])
        links = (f"[`{name.rpartition('.')[2]}`]({file}.md#{name})" for name in names[part])
        index.append(f"| [{title}]({file}.md) | {', '.join(links)} |")
    return {"README.md": "\n".join(index), **made}
