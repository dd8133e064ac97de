"""Commands that compute rows again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def command(line: Mapping[str, Any], datasets: Sequence[str]) -> str:
    """What computes a line of `lines_of` again; `datasets` are the words that ``--dataset`` takes for them."""
    model, weights = spec_of(line["model"])
    preset, _, stop = line["protocol"].partition("+stop:")
    words = ["intrabench", "run", "--model", model, *(["--weights", weights] if weights else [])]
    words += ["--prompter", line["prompter"], *(word for dataset in datasets for word in ("--dataset", dataset))]
    words += ["--protocol", preset, *(["--stop", stop] if stop else []), "--rounds", str(line["rounds"])]
    words += [word for seed in line["seeds"] if line["seeds"] != [0] for word in ("--seed", str(seed))]
    words += ["--dtype", line["dtype"]] if line["dtype"] != "float32" else []
    words += ["--strict"] if line["strict"] else []
    return shlex.join(words)


def spec_of(model: str) -> tuple[str, str]:
    """A model as rows call it, as its spec and what ``--weights`` took; nothing for the registered weights."""
    found = re.fullmatch(r"(.+) \((random weights|weights (\w+))\)", model)
    if found is None:
        return model, ""
    return found[1], f"FILE-{found[3]}" if found[3] else "random"
