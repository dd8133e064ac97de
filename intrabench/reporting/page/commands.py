"""Commands that reproduce rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from intrabench.effort import SECONDS
from intrabench.models.weights.registry import BY_HAND, RANDOM


def command(line: Mapping[str, Any], datasets: Sequence[str]) -> str:
    """The command that reproduces a line of `lines_of`; `datasets` are arguments for ``--dataset``.

    An effort table stands as the file that it was named after.
    """
    words = ["intrabench", "run", "--model", line["model"], *_weights(line)]
    words += ["--prompter", line["prompter"], *(word for dataset in datasets for word in ("--dataset", dataset))]
    words += ["--protocol", line["protocol"], *(["--stop", line["stop"]] if line["stop"] else [])]
    words += ["--effort", f"{line['effort'].partition('@')[0]}.toml"] if line["effort"] != SECONDS else []
    words += ["--joint", line["joint_rules"]] if line["joint_rules"] else []
    words += ["--rounds", str(line["rounds"])]
    words += [word for seed in line["seeds"] if line["seeds"] != [0] for word in ("--seed", str(seed))]
    words += ["--dtype", line["dtype"]] if line["dtype"] != "float32" else []
    words += ["--strict"] if line["strict"] else []
    return shlex.join(words)


def _weights(line: Mapping[str, Any]) -> list[str]:
    """The option that gives a model its weights; nothing for the registered ones. FILE stands for a file by hand."""
    given = {RANDOM: RANDOM, BY_HAND: f"FILE-{(line['weights_sha256'] or '')[:8]}"}.get(line["weights"])
    return ["--weights", given] if given else []
