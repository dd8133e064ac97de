"""A package with the interface of voxtell 0.1.2 and a model folder for it: what it computes is easy to foretell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

PREDICTOR = """
import json, os, sys
import numpy as np
import torch

CALLS = []


class tqdm:
    def __init__(self, disable=False):
        if not disable:
            print("|#####     |", file=sys.stderr)


def length(text):
    return len(text) + 1e-4 + (int(text[-1]) / 10 if text[-1].isdigit() else 0)


class VoxTellPredictor:
    def __init__(self, model_dir=None, device=torch.device("cuda"), text_encoding_model="Qwen/Qwen3-Embedding-4B",
                 embedding_bank=None, use_precomputed_embeddings=True):
        print("loading")
        assert not use_precomputed_embeddings, "it would download"
        torch.backends.cudnn.benchmark = True
        with open(os.path.join(model_dir, "plans.json")) as file:
            json.load(file)["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]
        path = os.path.join(model_dir, "fold_0", "checkpoint_final.pth")
        checkpoint = torch.load(path, map_location=torch.device("cpu"), weights_only=False)
        self.level, self.device = float(checkpoint["network_weights"]["level"]), device
        self.encoder = text_encoding_model
        self.bank = {}
        if embedding_bank is not None:
            with np.load(embedding_bank, allow_pickle=False) as data:
                self.bank = {str(label).lower(): one for label, one in zip(data["labels"], data["embeddings"])}

    def embed_text_prompts(self, text_prompts):
        CALLS.append(("embed", list(text_prompts)))
        texts = [text.lower() for text in text_prompts]
        if not os.path.isdir(self.encoder) and not all(text in self.bank for text in texts):
            raise OSError(f"We couldn't connect to the hub to load {self.encoder}")
        found = [self.bank[text] if text in self.bank else [length(text)] for text in texts]
        self.bank.update((text, np.array(one, dtype=np.float16)) for text, one in zip(texts, found))
        return torch.tensor(np.array(found, dtype=np.float32))[None]

    def predict_single_image(self, data, text_prompts=None, text_embeddings=None, progress_callback=None):
        tqdm()
        print("predicting")
        assert data.ndim == 4 and data.shape[0] == 1 and text_prompts is None and text_embeddings.shape[:2] == (1, 1)
        CALLS.append(("predict", data.shape, float(text_embeddings[0, 0, 0])))
        return (data.astype(np.float32) > self.level * float(text_embeddings[0, 0, 0])).astype(np.uint8)
"""


def write_package(site: Path) -> Path:
    """Write the package into a folder of packages."""
    for folder in (site / "voxtell", site / "voxtell" / "inference"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (site / "voxtell" / "inference" / "predictor.py").write_text(PREDICTOR)
    return site


def write_folder(folder: Path, level: float = 10.0, layer: str = "torch.nn.Conv3d", more: Any = None) -> Path:
    """Write a model folder; a voxel is of the target if it exceeds `level` times the letters of the text."""
    import torch

    about = {
        "network_class_name": "elsewhere.Network",  # nobody asks for it
        "arch_kwargs": {"conv_op": layer, "n_stages": 6},
        "_kw_requires_import": ["conv_op"],
    }
    (folder / "fold_0").mkdir(parents=True)
    plans = {"configurations": {"3d_fullres": {"patch_size": [192, 192, 192], "architecture": about}}}
    (folder / "plans.json").write_text(json.dumps(plans))
    content = {"network_weights": {"level": torch.tensor(level)}, "logging": np.float64(0.5), "more": more}
    torch.save(content, folder / "fold_0" / "checkpoint_final.pth")
    return folder
