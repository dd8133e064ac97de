"""What people call the structures of the Desikan-Killiany atlas, whose labels are written in one word."""

from __future__ import annotations

from collections.abc import Mapping

_AREAS = {
    "bankssts": ("banks of the superior temporal sulcus",),
    "caudalanteriorcingulate": ("caudal anterior cingulate cortex",),
    "caudalmiddlefrontal": ("caudal middle frontal gyrus",),
    "cuneus": ("cuneus",),
    "entorhinal": ("entorhinal cortex",),
    "fusiform": ("fusiform gyrus", "occipitotemporal gyrus"),
    "inferiorparietal": ("inferior parietal lobule",),
    "inferiortemporal": ("inferior temporal gyrus",),
    "isthmuscingulate": ("isthmus of the cingulate gyrus",),
    "lateraloccipital": ("lateral occipital cortex",),
    "lateralorbitofrontal": ("lateral orbitofrontal cortex",),
    "lingual": ("lingual gyrus",),
    "medialorbitofrontal": ("medial orbitofrontal cortex",),
    "middletemporal": ("middle temporal gyrus",),
    "parahippocampal": ("parahippocampal gyrus",),
    "paracentral": ("paracentral lobule",),
    "parsopercularis": ("pars opercularis", "opercular part of the inferior frontal gyrus"),
    "parsorbitalis": ("pars orbitalis", "orbital part of the inferior frontal gyrus"),
    "parstriangularis": ("pars triangularis", "triangular part of the inferior frontal gyrus"),
    "pericalcarine": ("pericalcarine cortex",),
    "postcentral": ("postcentral gyrus", "primary somatosensory cortex"),
    "posteriorcingulate": ("posterior cingulate cortex",),
    "precentral": ("precentral gyrus", "primary motor cortex"),
    "precuneus": ("precuneus",),
    "rostralanteriorcingulate": ("rostral anterior cingulate cortex",),
    "rostralmiddlefrontal": ("rostral middle frontal gyrus",),
    "superiorfrontal": ("superior frontal gyrus",),
    "superiorparietal": ("superior parietal lobule",),
    "superiortemporal": ("superior temporal gyrus",),
    "supramarginal": ("supramarginal gyrus",),
    "frontalpole": ("frontal pole",),
    "temporalpole": ("temporal pole",),
    "transversetemporal": ("transverse temporal gyrus", "Heschl's gyrus"),
    "insula": ("insula", "insular cortex"),
    "thalamusproper": ("thalamus",),
    "caudate": ("caudate nucleus", "caudate"),
    "putamen": ("putamen",),
    "pallidum": ("globus pallidus", "pallidum"),
    "accumbensarea": ("nucleus accumbens",),
    "hippocampus": ("hippocampus",),
    "amygdala": ("amygdala",),
}

STRUCTURES: Mapping[str, tuple[str, ...]] = {
    f"{side}_{label}": tuple(f"{side} {name}" for name in names)
    for label, names in _AREAS.items()
    for side in ("left", "right")
} | {"brainstem": ("brainstem", "brain stem")}
"""By the labels of `brain_mni`."""
