"""Repositories of RITM's family for tests: the stand-in, copied, with what the others do differently."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPO = Path(__file__).parent / "isegm_repo"
CONFIG: dict[str, Any] = {"class": "isegm.model.tiny.TinyModel", "params": {"width": 4}}


def ritm(folder: Path) -> Path:
    """A clone."""
    shutil.copytree(REPO, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def simpleclick(folder: Path) -> Path:
    """With one more argument for loading, and position embeddings that have to fit the crops."""
    package = ritm(folder) / "isegm"
    _replace(
        package / "inference/utils.py", "device: Any, **kwargs: Any) -> Any:", "device: Any, eval_ritm: Any) -> Any:", 1
    )
    _replace(package / "inference/utils.py", "device, **kwargs)", "device)")
    (package / "model/modeling").mkdir()
    (package / "model/modeling/pos_embed.py").write_text(
        "def interpolate_pos_embed_inference(backbone, size, device):\n    backbone.pos_embed = size\n"
    )
    _replace(
        package / "model/tiny.py",
        "    def forward(",
        "        self.backbone = lambda: None\n        self.backbone.pos_embed = None\n\n    def forward(",
    )
    return folder


def clickseg(folder: Path) -> Path:
    """With an own mode and an input size; no flip by itself."""
    predictors = ritm(folder) / "isegm/inference/predictors/__init__.py"
    _replace(predictors, "with_flip: bool = True", "infer_size: int = 256, with_flip: bool = False")
    _replace(predictors, 'brs_mode != "NoBRS"', 'brs_mode not in ("NoBRS", "FocalClick")')
    _replace(predictors, "    return Predictor(", "    net.infer_size = infer_size\n    return Predictor(")
    return folder


def cfr(folder: Path) -> Path:
    """The first click is answered several times."""
    predictors = ritm(folder) / "isegm/inference/predictors/__init__.py"
    _replace(predictors, "net_clicks_limit: Any = None,", "net_clicks_limit: Any = None, cascade_step: int = 0,")
    _replace(
        predictors,
        "        self.device, self.with_flip",
        "        self.cascade_step = cascade_step\n        self.device, self.with_flip",
    )
    _replace(
        predictors,
        '        print("predicting")  # as some do\n',
        "        if len(clicker.get_clicks()) == 1 and self.cascade_step:\n"
        "            steps, self.cascade_step = self.cascade_step, 0\n"
        "            found = [self.get_prediction(clicker) for _ in range(steps)][-1]\n"
        "            self.cascade_step = steps\n            return found\n",
    )
    return folder


def segnext(folder: Path) -> Path:
    """In a folder of its own, with other names, and without options; it encodes the image first."""
    inference = ritm(folder / "segnext").joinpath("isegm/inference")
    text = (inference / "predictors/__init__.py").read_text()
    shutil.rmtree(inference / "predictors")
    text = text.replace("class Predictor:", "class BasePredictor:").replace("get_prediction", "predict")
    text = text.replace("def set_input_image(", "def set_image(")
    text = text.replace(
        "self, net: Any, device: Any, with_flip: bool, zoom_in: Any, net_clicks_limit: Any = None, **_: Any",
        'self, net: Any, device: Any = torch.device("cpu"), with_flip: bool = False, zoom_in: Any = None, '
        "net_clicks_limit: Any = None",
    )
    text = text.replace(
        "        self.prev_prediction = torch.zeros",
        "        self.stages[0].encoded = getattr(self.stages[0], 'encoded', 0) + 1\n"
        "        self.image_feats = self.original_image.mean()\n        self.prev_prediction = torch.zeros",
    )
    start, end = text.index("def get_predictor("), text.index("class BasePredictor")
    (inference / "predictor.py").write_text(text[:start] + text[end:])
    return folder


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "ritm": ritm,
    "simpleclick": simpleclick,
    "clickseg": clickseg,
    "cfr": cfr,
    "segnext": segnext,
}


def checkpoint(path: Path, seed: int = 0, stages: int = 1, **params: Any) -> Path:
    """The file of a network with random weights, as these repositories save it."""
    import torch

    generator, made = torch.Generator().manual_seed(seed), []
    for _ in range(stages):
        shapes = {"inner.weight": (4, 6, 5, 5), "inner.bias": (4,), "outer.weight": (1, 4, 5, 5), "outer.bias": (1,)}
        state = {name: torch.randn(shape, generator=generator) * 0.15 for name, shape in shapes.items()}
        made.append({"config": CONFIG | {"params": CONFIG["params"] | params}, "state_dict": state})
    torch.save(made if stages > 1 else made[0], path)
    return path


def _replace(path: Path, old: str, new: str, count: int = -1) -> None:
    text = path.read_text()
    assert old in text, old
    path.write_text(text.replace(old, new, count))
