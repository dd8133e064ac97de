"""Writes credits.md from the registry of weights and the cards of the data sets; `make docs` runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from make_models import weights_of

from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.registry import registry

FOLDER = Path(__file__).parent
HEAD = """# Credits

<!-- Written by `make docs` from the registry of weights and the cards of the data sets. Do not edit it. -->

Please cite the publications behind what you used. `intrabench report` lists those of the models and data sets in a run.

## Benchmarks, prompters and measures

- Static prompts, interpolation, propagation, scribbles and the ten medical data sets: C. Ulrich, T. Wald, E. Tempus,
  M. Rokuss, P. F. Jaeger, K. Maier-Hein, *IntRaBench: Interactive Radiological Benchmark*, in later versions
  *RadioActive: 3D Radiological Interactive Segmentation Benchmark*, [arXiv 2411.07885](https://arxiv.org/abs/2411.07885).
  Their code is [RadioActive](https://github.com/MIC-DKFZ/radioactive). IntraBench was written independently of it.
- Clicks of real users, groups of clicks and their statistics: A. Antonov et al., *RClicks: Realistic Click Simulation
  for Benchmarking Interactive Segmentation*, NeurIPS 2024, [arXiv 2410.11722](https://arxiv.org/abs/2410.11722); code:
  [emb-ai/rclicks](https://github.com/emb-ai/rclicks).
- The baseline clicker and the number of clicks: K. Sofiiuk et al., *Reviving Iterative Training with Mask Guidance for
  Interactive Segmentation*, ICIP 2022, [arXiv 2102.06583](https://arxiv.org/abs/2102.06583).
- Surface Dice and 95 % Hausdorff distance: defined as in
  [DeepMind's surface-distance](https://github.com/google-deepmind/surface-distance); S. Nikolov et al.,
  [arXiv 1809.04430](https://arxiv.org/abs/1809.04430).
- Boundary IoU: B. Cheng et al., *Boundary IoU*, CVPR 2021, [arXiv 2103.16562](https://arxiv.org/abs/2103.16562).
- Seconds of a 2D box: D. P. Papadopoulos et al., *Extreme clicking for efficient object annotation*, ICCV 2017,
  [arXiv 1708.02750](https://arxiv.org/abs/1708.02750).
- Seconds of a text: S. K. Card, T. P. Moran and A. Newell, *The keystroke-level model for user performance time with
  interactive systems*, Communications of the ACM 23(7), 396 (1980).

## Models

`random_walker` follows L. Grady, *Multilabel random walker image segmentation using prior models*, CVPR 2005. `grabcut`
is OpenCV's implementation of C. Rother et al., *GrabCut*, SIGGRAPH 2004. `graph_cut` follows Y. Boykov and
M.-P. Jolly, *Interactive graph cuts*, ICCV 2001, with SciPy's maximum flow. `grow_from_seeds` is ITK's implementation
(itk-growcut, Apache-2.0) of L. Zhu et al., *An effective interactive medical image segmentation method using fast
GrowCut*, IMIC workshop at MICCAI 2014.
"""


def page() -> str:
    """The text of credits.md."""
    return "\n".join([HEAD, *_models(), "", "## Data sets", "", *_datasets(), ""])


def _models() -> Iterator[str]:
    yield from ["| model | publication | home page | licence of the weights |", "|---|---|---|---|"]
    models: dict[tuple[str, ...], list[str]] = {}
    for entry in registry.entries("models").values():
        if entry.origin == "intrabench":
            for file in weights_of(entry.load()):
                models.setdefault(_about(file), [])
                if entry.name not in models[_about(file)]:
                    models[_about(file)].append(entry.name)
    models[_about(weights.get("rclicks"))] = ["clickability:model=rclicks"]
    models[_about(weights.get("clip_merges"))] = ["texts of segvol"]
    for about, names in models.items():
        yield f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(about)} |"


def _about(file: Weights) -> tuple[str, str, str]:
    return linked(file.citation), ", ".join(f"<{place}>" for place in file.pages), file.licence


def _datasets() -> Iterator[str]:
    yield from ["| data set | publication | home page | licence |", "|---|---|---|---|"]
    for entry in registry.entries("datasets").values():
        if entry.origin == "intrabench" and entry.name != "phantom":
            card = entry.load()().card
            home = f"<{card.homepage}>" if card.homepage else ""
            yield f"| `{entry.name}` | {linked(card.citation)} | {home} | {card.licence} |"


def linked(citation: str) -> str:
    """A citation whose DOIs and arXiv numbers are links."""
    citation = re.sub(r"doi:(10\.[^\s;,]*[^\s;,.)])", r"[doi:\1](https://doi.org/\1)", citation)
    return re.sub(r"arXiv[ :](\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", citation)


if __name__ == "__main__":
    (FOLDER / "credits.md").write_text(page(), encoding="utf-8")
