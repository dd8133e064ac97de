"""A small model folder of nnInteractive with weights that nobody trained: the real kind of network and files, tiny."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

CHANNELS = 8  # the image, the previous mask, and positive and negative boxes or lassos, points, scribbles
CONFIGURATION = "3d_fullres"


def write_folder(
    folder: Path,
    *,
    patch: int = 64,
    network_class: str = "dynamic_network_architectures.architectures.unet.ResidualEncoderUNet",
    bias: float = 0.0,
    info: dict[str, Any] | None = None,
    logged: Any = None,
) -> Path:
    """Write plans.json, dataset.json, inference_info.json and fold_0/checkpoint_final.pth, as nnU-Net's trainer does.

    bias: how much the network prefers the target; info: more of the checkpoint's capabilities; logged: something in
    the checkpoint that is no weight.
    """
    import torch
    from nnunetv2.utilities.get_network_from_plans import get_network_from_plans

    from intrabench.models.parts.random_weights import fill_randomly

    plans = make_plans(patch, network_class)
    dataset = {"channel_names": {"0": "image"}, "labels": {"background": 0, "target": 1}, "file_ending": ".nii.gz"}
    about = plans["configurations"][CONFIGURATION]["architecture"]
    network = get_network_from_plans(
        "dynamic_network_architectures.architectures.unet.ResidualEncoderUNet",
        about["arch_kwargs"],
        about["_kw_requires_import"],
        CHANNELS,
        2,
        deep_supervision=False,
    )
    fill_randomly(network)
    state = network.state_dict()
    last = max(key for key in state if key.startswith("decoder.seg_layers.") and key.endswith(".bias"))
    state[last] = torch.tensor([0.0, bias])
    checkpoint = {
        "network_weights": state,
        "logging": {"ema_fg_dice": [np.float64(0.5), np.float32(0.25)], "train_losses": [0.1], "epochs": np.int64(2)},
        "_best_ema": np.float64(0.5),
        "current_epoch": 2,
        "init_args": {"plans": plans, "configuration": CONFIGURATION, "fold": 0, "device": torch.device("cpu")},
        "trainer_name": "nnInteractiveTrainer_stub",
        "inference_allowed_mirroring_axes": (0, 1, 2),
        "logged": logged,
    }
    (folder / "fold_0").mkdir(parents=True)
    torch.save(checkpoint, folder / "fold_0" / "checkpoint_final.pth")
    capabilities = {"point_radius": 2, "preferred_scribble_thickness": [2, 2, 2], "interaction_decay": 0.9}
    for name, content in (
        ("plans", plans),
        ("dataset", dataset),
        ("inference_info", capabilities | (info or {})),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def make_plans(patch: int, network_class: str) -> dict[str, Any]:
    """Plans of a residual encoder U-Net with three stages."""
    architecture = {
        "network_class_name": network_class,
        "arch_kwargs": {
            "n_stages": 3,
            "features_per_stage": [4, 8, 8],
            "conv_op": "torch.nn.modules.conv.Conv3d",
            "kernel_sizes": [[3, 3, 3]] * 3,
            "strides": [[1, 1, 1], [2, 2, 2], [2, 2, 2]],
            "n_blocks_per_stage": [1, 1, 1],
            "n_conv_per_stage_decoder": [1, 1],
            "conv_bias": True,
            "norm_op": "torch.nn.modules.instancenorm.InstanceNorm3d",
            "norm_op_kwargs": {"eps": 1e-5, "affine": True},
            "dropout_op": None,
            "dropout_op_kwargs": None,
            "nonlin": "torch.nn.LeakyReLU",
            "nonlin_kwargs": {"inplace": True},
        },
        "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
    }
    configuration = {
        "data_identifier": "tiny",
        "preprocessor_name": "DefaultPreprocessor",
        "batch_size": 2,
        "patch_size": [patch] * 3,
        "spacing": [1.0, 1.0, 1.0],
        "normalization_schemes": ["ZScoreNormalization"],
        "use_mask_for_norm": [False],
        "architecture": architecture,
    }
    return {
        "dataset_name": "Dataset001_Tiny",
        "plans_name": "tiny",
        "transpose_forward": [0, 1, 2],
        "transpose_backward": [0, 1, 2],
        "image_reader_writer": "SimpleITKIO",
        "configurations": {CONFIGURATION: configuration},
    }
