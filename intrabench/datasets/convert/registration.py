"""Rigid registration of two scans of one patient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError

_FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])  # ITK axes point to Left and Posterior, ours to Right and Anterior


def rigid(moving: Path, fixed: Path) -> NDArray[np.float64]:
    """The rigid transform from `moving` to `fixed`: a 4 x 4 matrix between their RAS millimetres.

    Uses elastix's standard rigid settings (mutual information, four resolutions) and starts at the centres of gravity,
    as RadioActive does. The images keep their own orientations.

    Raises:
        IntraBenchError: elastix is not installed or fails.
    """
    try:
        import itk
    except ImportError as error:
        raise IntraBenchError(
            "registration needs a library that is not installed; run: pip install 'intrabench[hanseg]'"
        ) from error
    images = [itk.imread(str(path), itk.F) for path in (fixed, moving)]
    settings = itk.ParameterObject.New()
    chosen = settings.GetDefaultParameterMap("rigid")
    chosen["AutomaticTransformInitialization"] = ["true"]
    chosen["AutomaticTransformInitializationMethod"] = ["CenterOfGravity"]
    chosen["WriteResultImage"] = ["false"]
    settings.AddParameterMap(chosen)
    try:
        _, found = itk.elastix_registration_method(*images, parameter_object=settings, log_to_console=False)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise IntraBenchError(
            f"{moving.name} could not be aligned with {fixed.name} ({reason}); leave the case out with --cases"
        ) from error
    to_moving = _matrix(found.GetParameterMap(0))
    return np.asarray(_FLIP @ np.linalg.inv(to_moving) @ _FLIP)


def _matrix(parameters: Any) -> NDArray[np.float64]:
    """elastix's Euler transform from fixed to moving in ITK's axes: angles about x, y, z, centre, translation."""
    ax, ay, az, *shift = (float(text) for text in parameters["TransformParameters"])
    centre = np.array([float(text) for text in parameters["CenterOfRotationPoint"]])
    about_x = _rotation(ax, 1, 2)
    about_y = _rotation(ay, 2, 0)
    about_z = _rotation(az, 0, 1)
    zyx = parameters["ComputeZYX"][0] == "true" if "ComputeZYX" in parameters else False
    turned = about_z @ about_y @ about_x if zyx else about_z @ about_x @ about_y
    matrix = np.eye(4)
    matrix[:3, :3] = turned
    matrix[:3, 3] = shift + centre - turned @ centre
    return matrix


def _rotation(angle: float, first: int, second: int) -> NDArray[np.float64]:
    """The rotation by `angle` radians from one axis towards another."""
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[second, first] = np.sin(angle)
    matrix[first, second] = -np.sin(angle)
    return matrix
