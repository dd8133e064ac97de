"""The photographs of the superpixel benchmark besides BSDS500: SBD, NYUV2, SUNRGBD and Fash.

Each is divided once, into segments that fill the picture. The parts are those of Stutz, Hermans, Leibe, CVIU 2018:
parameters are tuned on ``train``, and ``test`` is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.segmented_photos import Places, SegmentedPhotos
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile

DATA = "https://github.com/davidstutz/superpixel-benchmark-data"
"""The photographs as the benchmark used them: images/PART/NAME.png or jpg, and csv_groundTruth/PART/NAME.csv."""
MAKE = "https://github.com/davidstutz/superpixel-benchmark/blob/master/docs/DATASETS.md"
"""How its authors converted the data sets."""
CARD = DatasetCard(
    title="",
    modality="natural RGB",
    licence="not stated with the photographs; see the homepage",
    labels="person1: the segments of the one annotation; they fill the picture; what has no label is one, too",
    instances="segments, by their numbers in the file",
    caveats=("no checksum of the archive is published; compare the files before you compare results with others",),
)
"""What the cards of all have in common."""


def _packed(name: str, parts: int) -> RemoteFile:
    """An archive that its user packs anew, because it is published in parts of a 7z archive."""
    files = f"{name}.7z.001 to .{parts:03}"
    terms = f"unpack {files} with 7-Zip, and pack the folder {name} as {name}.zip"
    return RemoteFile(f"{name}.zip", page=DATA, terms=terms)


@dataclass(frozen=True)
class Sbd(SegmentedPhotos):
    """715 outdoor scenes (14 MB), of which ``--cases subset:test`` are the 477 of the superpixel benchmark."""

    name = "sbd"
    version = "1"
    card = replace(
        CARD,
        title="Stanford Background Dataset: 715 outdoor scenes",
        citation="S. Gould, R. Fulton, D. Koller, ICCV 2009",
        homepage="https://dags.stanford.edu/projects/scenedataset.html",
        cases=715,
    )
    source = RemoteFile(
        "iccv09Data.tar.gz",
        ("http://dags.stanford.edu/data/iccv09Data.tar.gz",),
        page="http://dags.stanford.edu/projects/scenedataset.html",
        about_mb=14,
        member_mb=10,
    )
    annotations, suffix = "labels", ".layers.txt"

    def places(self, names: Sequence[str]) -> dict[str, Places]:
        """Photographs of `TRAIN`, and all others."""
        every = self.pairs(names, self.images, self.annotations)
        train = {name.zfill(7) for name in TRAIN.split()}
        return {
            part: {case: place for case, place in every.items() if (case in train) == (part == "train")}
            for part in self.parts
        }

    def drawn(self, path: Path, shape: tuple[int, ...]) -> dict[int, NDArray[Any]]:
        """The regions (layers) of a photograph: rows of whole numbers."""
        try:
            found = np.loadtxt(path, np.int64, ndmin=2)
        except ValueError as error:
            raise IntraBenchError(
                f"{path} is no label map of {self.name} ({error}); unpack the archive again"
            ) from error
        if found.shape != shape:
            raise IntraBenchError(f"{path} has the shape {found.shape}, expected {shape}, that of its photograph")
        return {1: found}


@dataclass(frozen=True)
class NyuV2(SegmentedPhotos):
    """598 indoor scenes of NYU Depth V2, of which ``--cases subset:test`` are the 399 of the superpixel benchmark.

    Its authors cropped them and thinned unlabelled parts; the archive is packed anew by hand.
    """

    name = "nyuv2"
    version = "1"
    card = replace(
        CARD,
        title="NYU Depth V2 as the superpixel benchmark used it: 598 indoor scenes",
        citation="N. Silberman, D. Hoiem, P. Kohli, R. Fergus, ECCV 2012",
        homepage="https://cs.nyu.edu/~silberman/datasets/nyu_depth_v2.html",
        cases=598,
    )
    source = _packed("NYUV2", 4)


@dataclass(frozen=True)
class SunRgbd(SegmentedPhotos):
    """600 indoor scenes of SUN RGB-D, of which ``--cases subset:test`` are the 400 of the superpixel benchmark.

    None is in NYU Depth V2. Its authors thinned unlabelled parts; the archive is packed anew by hand.
    """

    name = "sunrgbd"
    version = "1"
    card = replace(
        CARD,
        title="SUN RGB-D as the superpixel benchmark used it: 600 indoor scenes",
        citation="S. Song, S. Lichtenberg, J. Xiao, CVPR 2015",
        homepage="https://rgbd.cs.princeton.edu",
        cases=600,
    )
    source = _packed("SUNRGBD", 4)


@dataclass(frozen=True)
class Fash(SegmentedPhotos):
    """685 photographs of clothed people, of which ``--cases subset:test`` are the 463 of the superpixel benchmark.

    Its authors do not publish them converted; their script makes the folders from the original file, by hand.
    """

    name = "fash"
    version = "1"
    card = replace(
        CARD,
        title="Fashionista as the superpixel benchmark used it: 685 photographs of clothed people",
        licence="not stated for the photographs; the program around them has BSD-3-Clause",
        citation="K. Yamaguchi, M. H. Kiapour, L. E. Ortiz, T. L. Berg, CVPR 2012",
        homepage="https://github.com/davidstutz/superpixel-benchmark",
        cases=685,
    )
    source = RemoteFile(
        "Fash.zip",
        page=MAKE,
        terms="convert fashionista_v0.2.1.mat with fash_convert_script.m, and pack the folder Fash as Fash.zip",
    )


TRAIN = """
51 87 759 952 2136 2755 3957 4028 5074 5633 7323 7932 9212 10830 10950 11154 100113 100851 101060 101434
101488 103256 103468 104194 104463 104552 104808 104958 105064 1000061 1000105 1000413 1000505 1001184 1001252
1001770 1001794 1100002 1100006 1100009 1100016 1100017 1100023 1100029 2000012 2000022 2000023 2000025
2000032 2000034 2000035 2000036 2000043 3000099 3000119 3000454 3001018 3001230 3001421 3001555 3001569
3001826 3002154 3002594 3003791 5000121 5000123 5000126 5000129 5000132 5000149 5000162 5000165 5000166
5000168 5000176 5000181 5000183 5000188 5000190 5000195 5000200 5000201 5000203 5000226 5000234 5000264
5000265 6000002 6000003 6000006 6000010 6000012 6000019 6000023 6000025 6000026 6000029 6000033 6000034
6000037 6000038 6000041 6000042 6000051 6000063 6000066 6000069 6000073 6000074 6000075 6000078 6000081
6000083 6000092 6000093 6000097 6000098 6000103 6000104 6000108 6000111 6000113 6000125 6000126 6000129
6000130 6000131 6000132 6000133 6000139 6000140 6000141 6000143 6000144 6000145 6000146 6000147 6000148
6000149 6000151 6000152 6000154 6000156 6000160 6000162 6000163 6000165 6000166 6000167 6000169 6000171
6000174 6000176 6000179 6000189 6000191 6000192 6000193 6000197 6000202 6000206 6000208 6000211 6000213
6000215 6000222 6000230 6000231 6000235 6000237 6000239 6000246 6000247 6000248 6000250 6000252 6000254
6000256 6000259 6000260 6000263 6000268 6000271 6000272 6000273 6000274 6000277 6000278 6000281 6000282
6000283 6000287 6000288 6000289 6000291 6000295 6000296 6000297 6000304 6000305 6000306 6000309 6000312
6000313 6000318 6000319 6000320 6000322 6000327 6000330 6000333 6000335 6000345 6000347 6000353 6000354
8000811 8002274 8002764 8005616 8008545 9000928 9000989 9001071 9001619 9002021 9002577 9002827 9002972
9003234 9003339 9003423 9004060 9004427 9004520 9004879 9005011
"""
"""The photographs of SBD on which the benchmark tuned parameters, drawn by its authors; without leading zeros."""
