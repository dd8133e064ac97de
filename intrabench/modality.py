"""Whether a scan is CT in Hounsfield units: what its stated modality says, and how its values look."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CT = re.compile(r"(?<!\bno )(?<!\bnon )(?<!\bnot )\b(ct|cta|cbct|cect|ncct|ldct|hrct|computed tomography)\b")
_OTHER = re.compile(
    r"\b(mri?|mra|magnetic resonance|t[12]\w*|flair|dwi|adc|swi|pet|pt|spect|nm|us|ultrasound|x ?ray(?! ct| computed)|"
    r"cr|dx|mg|xa|natural|rgb|photo\w*|microscopy|endoscopy|dermoscopy|fundus)\b"
)
_ENOUGH = 1_000_000
"""Voxels that are looked at."""


def states_ct(modality: str) -> bool | None:
    """Whether a stated modality is CT; None: it says neither CT nor anything else that is known, or both.

    ``CT``, ``ct, portal venous``, ``low-dose CT`` and ``computed tomography`` are CT; ``PET/CT`` may be either.
    """
    text = " ".join(re.findall(r"[a-z0-9]+", modality.lower()))
    ct, other = bool(_CT.search(text)), bool(_OTHER.search(text))
    return ct if ct != other else None


def in_hounsfield(array: NDArray[Any]) -> bool | None:
    """Whether the values of ``(z, y, x)`` look like Hounsfield units; False: they cannot be, None: it is not clear.

    Looks like them: values begin near -1000, as air does (one lower value may pad the image), and most of what is
    denser than lung lies between fat and soft tissue, -200 to 300. A crop without air is not clear. Channels,
    values without negative ones and values from a range below 100 cannot be Hounsfield units.
    """
    if array.ndim != 3:
        return False
    low, high = float(array.min()), float(array.max())
    if low >= 0 or high - low < 100:
        return False
    step = ceil((array.size / _ENOUGH) ** (1 / 3))
    seen = array[::step, ::step, ::step]
    if low < -1100:
        seen = seen[seen > low]
        low = float(seen.min(initial=0))
    dense = seen[seen > -600]
    if low > -900 or dense.size <= 0.02 * seen.size or np.mean(seen < -1100) > 0.01:
        return None
    # the largest value of 12 bits is 3071
    return True if np.mean(abs(dense - 50.0) <= 250) > 0.6 and np.mean(dense > 3100) < 0.01 else None
