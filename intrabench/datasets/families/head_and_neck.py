"""What people call organs of the head and neck, whose labels are abbreviated in `hanseg` and `segrap`."""

from __future__ import annotations

from collections.abc import Mapping

_PAIRED = {
    "A_Carotid": ("carotid artery",),
    "Cochlea": ("cochlea",),
    "ETbone": ("bony part of the eustachian tube",),
    "Eye": ("eyeball", "eye"),
    "Eye_A": ("anterior segment of the eyeball",),
    "Eye_P": ("posterior segment of the eyeball",),
    "Glnd_Lacrimal": ("lacrimal gland",),
    "Glnd_Submand": ("submandibular gland",),
    "Hippocampus": ("hippocampus",),
    "IAC": ("internal auditory canal",),
    "Lens": ("lens of the eye",),
    "Mandible": ("half of the mandible", "mandible"),
    "Mastoid": ("mastoid",),
    "MiddleEar": ("middle ear",),
    "OpticNerve": ("optic nerve",),
    "OpticNrv": ("optic nerve",),
    "Parotid": ("parotid gland", "parotid"),
    "Submandibular": ("submandibular gland",),
    "TMjoint": ("temporomandibular joint",),
    "TemporalLobe": ("temporal lobe",),
    "TympanicCavity": ("tympanic cavity",),
    "VestibulSemi": ("vestibule and semicircular canals",),
}
_SINGLE = {
    "Arytenoid": ("arytenoid cartilage",),
    "Bone_Mandible": ("mandible", "lower jaw"),
    "Brain": ("brain",),
    "BrainStem": ("brainstem", "brain stem"),
    "Brainstem": ("brainstem", "brain stem"),
    "BuccalMucosa": ("buccal mucosa",),
    "Cavity_Oral": ("oral cavity", "mouth"),
    "Chiasm": ("optic chiasm",),
    "Cricopharyngeus": ("cricopharyngeal muscle",),
    "Esophagus": ("esophagus", "oesophagus"),
    "Esophagus_S": ("cervical esophagus", "esophagus"),
    "Glnd_Thyroid": ("thyroid gland", "thyroid"),
    "Glottis": ("glottic larynx", "glottis"),
    "Larynx": ("larynx",),
    "Larynx_Glottic": ("glottic larynx", "glottis"),
    "Larynx_SG": ("supraglottic larynx",),
    "Larynx_Supraglot": ("supraglottic larynx",),
    "Lips": ("lips",),
    "OpticChiasm": ("optic chiasm",),
    "OralCavity": ("oral cavity", "mouth"),
    "PharynxConst": ("pharyngeal constrictor muscles",),
    "Pituitary": ("pituitary gland", "pituitary"),
    "SpinalCord": ("spinal cord",),
    "Thyroid": ("thyroid gland", "thyroid"),
    "Trachea": ("trachea", "windpipe"),
}
_SIDES = {"L": "left", "R": "right"}
_JOINED = {"Eye_A", "Eye_P"}
"""Their labels have no underscore before the side."""

NAMES: Mapping[str, tuple[str, ...]] = _SINGLE | {
    f"{label}{'' if label in _JOINED else '_'}{letter}": tuple(f"{side} {name}" for name in names)
    for label, names in _PAIRED.items()
    for letter, side in _SIDES.items()
}
"""By the labels of both sets."""
