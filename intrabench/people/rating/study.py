"""The folder of a rating study: what raters get, the key that they do not, and their answers.

``study.json`` has the orders, ``cases.json`` the images, ``jobs/`` and ``images/`` what pages load; ``key.json`` has
the secret of the study and what each job is, ``raters.json`` the raters' tokens. The last two are never served.

A job is one look of one rater at a mask. Its id comes of the secret: another rater, or the same one at a second look,
gets the same mask under an id that has nothing to do with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import new_folder
from intrabench.files.documents import Unreadable, check_table, number_of_json, read_json, write_json
from intrabench.people.images import Slabs
from intrabench.people.rating import guideline
from intrabench.people.rating.gallery import FILE as GALLERY
from intrabench.people.rating.secret import Secret
from intrabench.people.tokens import new_token, read_tokens

FORMAT = 2
OPEN = 1
"""The format whose ids told raters what a mask is: answers are still read, but nobody is asked any more."""
QUESTIONS = ("score", "clinical", "pair")
ANCHORS = ("truth", "damaged")
"""Kinds of masks that no model made: the reference, and copies of it that were damaged."""

_STUDY: dict[str, Any] = {"title": str, "guideline": str, "questions": list[str], "orders": dict[str, list[str]]}
_TRAINING = {FORMAT: dict[str, list[str]], OPEN: list[str]}
_CASE: dict[str, Any] = {
    **{"shape": list[int], "spacing": list[float], "photo": bool, "channels": int, "dtype": str, "slope": float},
    **{"intercept": float, "slab": int, "presets": list[dict[str, Any]], "preset": int},
}
_NAMED = ("kind", "name", "code", "dataset", "case", "target", "label")
_SCORES = ("dice", "iou", "nsd_2mm", "hd95_mm")
_KEY: dict[str, Any] = {
    **dict.fromkeys(_NAMED, str),
    **dict.fromkeys(("patient", "model", "prompter", "session", "status", "damage"), str | None),
    **dict.fromkeys(("seed", "round"), int | None),
    **dict.fromkeys((*_SCORES, "severity"), float | None),
    "b": dict[str, Any],
}
_JOB: dict[str, Any] = {"case": str, "see": list[int]}


class Study:
    """An open study. Whatever a browser names is looked up in what is known, so no path comes from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._see: dict[str, tuple[int, int]] = {}

    @classmethod
    def open(cls, folder: Path) -> Study:
        """A study that was designed.

        Raises:
            IntraBenchError: there is none, or it is damaged.
        """
        study = cls(folder)
        if study.format not in (FORMAT, OPEN):
            raise IntraBenchError(
                f"{folder / 'study.json'} is of another version of IntraBench; design the study again"
            )
        study.check()
        return study

    @cached_property
    def format(self) -> int:
        """Which version of this folder's layout it has."""
        found: int = self._read("study.json", {"format": int}, ["format"])["format"]
        return found

    @cached_property
    def content(self) -> dict[str, Any]:
        """``study.json``: title, guideline, questions, training, and the order of each rater."""
        types = {**_STUDY, "training": _TRAINING[self.format]}
        return self._read("study.json", {**types, "orientation": str}, types)

    @cached_property
    def cases(self) -> dict[str, Any]:
        """What pages must know of each image, by its code."""
        found = self._read("cases.json", {})
        for code, about in found.items():
            check_table(self.folder / "cases.json", about, _CASE, _CASE)
            if len(about["shape"]) != 3 or len(about["spacing"]) != 3:
                raise Unreadable(f"{self.folder / 'cases.json'} has an image {code!r} without three axes; repair it")
        return found

    @cached_property
    def key(self) -> dict[str, dict[str, Any]]:
        """What each job is, by its id; `mask` is the same for all looks at one mask."""
        path, found = self.folder / "key.json", self._key
        masks = found if self.format == OPEN else found["masks"]
        jobs = {id: id for id in found} if self.format == OPEN else found["jobs"]
        for name, one in masks.items():
            if isinstance(one, dict):
                one |= {score: number_of_json(one[score]) for score in _SCORES if score in one}
            check_table(path, one, _KEY, _NAMED)
            if one["kind"] == "pair" and not isinstance(one.get("b", {}).get("name"), str):
                raise Unreadable(f"{path} has the pair {name} without its second model; repair it")
        for name in jobs.values():
            if name not in masks:
                raise Unreadable(f"{path} has a job of the mask {name!r}, of which it says nothing; repair it")
        return {id: {**masks[name], "mask": name} for id, name in jobs.items()}

    @cached_property
    def secret(self) -> Secret:
        """The secret of the study."""
        return Secret(self._key["secret"])

    @cached_property
    def _key(self) -> dict[str, Any]:
        if self.format == OPEN:
            return self._read("key.json", {})
        types = {"secret": str, "masks": dict[str, Any], "jobs": dict[str, str]}
        return self._read("key.json", types, types)

    @cached_property
    def tokens(self) -> dict[str, str]:
        """The token of each rater."""
        with self._there("raters.json"):
            found = read_tokens(self.folder / "raters.json")
        for rater in self.raters:
            if rater not in found:
                raise Unreadable(f"{self.folder / 'raters.json'} has no token of the rater {rater}; repair it")
        return {rater: found[rater] for rater in self.raters}

    @cached_property
    def id(self) -> str:
        """What tells studies with the same title apart, in files that raters send back."""
        return hashlib.sha256("".join(sorted(self.key)).encode()).hexdigest()[:16]

    @property
    def raters(self) -> list[str]:
        """Their codes."""
        return list(self.content["orders"])

    @property
    def answers_file(self) -> Path:
        """The database of answers."""
        return self.folder / "answers.sqlite"

    def order(self, rater: str) -> list[str]:
        """The jobs of a rater, place by place."""
        found: list[str] = self.content["orders"][rater]
        return found

    def training(self, rater: str) -> list[str]:
        """The jobs with which a rater begins."""
        found: list[str] = self.content["training"] if self.format == OPEN else self.content["training"][rater]
        return found

    def masks(self, rater: str) -> list[str]:
        """The masks of a rater's jobs, place by place; a second look has the mask of an earlier place."""
        return [self.key[job]["mask"] for job in self.order(rater)]

    def check(self) -> None:
        """Compare the files of the study with each other.

        Raises:
            IntraBenchError: one is damaged, or does not fit the others.
        """
        path, training = self.folder / "study.json", self.content["training"]
        if not self.content["questions"] or {*self.content["questions"]} - {*QUESTIONS}:
            raise Unreadable(f"{path} has other questions than {', '.join(QUESTIONS)}; repair it")
        if self.format != OPEN and training.keys() != self.content["orders"].keys():
            raise Unreadable(f"{path} has training and orders of different raters; repair it")
        for rater in self.raters:
            for job in (*self.order(rater), *self.training(rater)):
                if job not in self.key:
                    raise Unreadable(f"{path} has the job {job!r} of {rater}, which is not in key.json; repair it")
        for name in (*self.key, *self.cases):
            if not re.fullmatch(r"[0-9A-Za-z]{1,64}", name):  # it becomes a part of a path
                raise Unreadable(f"{self.folder} has a job or an image called {name!r}; repair key.json or cases.json")

    def refuse_open(self) -> None:
        """Refuse a study in which raters can tell what a mask is.

        Raises:
            IntraBenchError: it is one.
        """
        if self.format == OPEN:
            raise IntraBenchError(
                f"{self.folder} is of an older version, in which raters could find out which model a mask is of; "
                "design a new study (rate table and rate export still read its answers)"
            )

    def about(self, rater: str) -> dict[str, Any]:
        """What the page of a rater gets first; nothing of it says what a job is."""
        return {
            "id": self.id,
            "title": self.content["title"],
            "rater": rater,
            "questions": self.content["questions"],
            "scale": guideline.SCALE,
            "errors": guideline.ERRORS,
            "clinical": guideline.CLINICAL,
            "skips": guideline.SKIPS,
            "cases": self.cases,
            "training": self.training(rater),
            "order": self.order(rater),
            "gallery": (self.folder / GALLERY).is_file(),
            "orientation": self.content.get("orientation", "radiological"),
        }

    def gallery(self) -> dict[str, Any]:
        """The examples that raters may look at; empty if the study has none.

        Raises:
            IntraBenchError: the file is damaged.
        """
        types = dict.fromkeys(("scores", "errors", "no_errors"), list[dict[str, Any]])
        return dict(self._read(GALLERY, types)) if (self.folder / GALLERY).is_file() else {}

    def job_file(self, rater: str, job: str) -> Path | None:
        """What the page of a rater loads of a job; None if they have no such job."""
        path = self.folder / "jobs" / f"{job}.json"
        return path if job in (*self.order(rater), *self.training(rater)) and path.is_file() else None

    def job(self, job: str) -> dict[str, Any]:
        """What pages load of a job.

        Raises:
            IntraBenchError: its file is damaged or missing.
        """
        name = f"jobs/{job}.json"
        found = self._read(name, _JOB, _JOB)
        case, see = self.cases.get(found["case"]), found["see"]
        if case is None or len(see) != 2 or not 0 <= see[0] < see[1] <= case["shape"][0]:
            raise Unreadable(f"{self.folder / name} does not fit the images of the study; repair it")
        return found

    def see(self, job: str) -> tuple[int, int]:
        """The slices ``first, last`` (half-open) that must be seen before a mask is rated."""
        if job not in self._see:
            first, last = self.job(job)["see"]
            self._see[job] = first, last
        return self._see[job]

    def image_file(self, case: str, slab: str) -> Path | None:
        """The compressed slab of an image; None if there is none."""
        if case not in self.cases or not (slab.isascii() and slab.isdecimal() and len(slab) < 6):
            return None
        path = self.image_folder(case) / f"{int(slab)}.gz"
        return path if path.is_file() else None

    def image_folder(self, case: str) -> Path:
        """The slabs of an image."""
        return self.folder / "images" / case

    def _read(self, name: str, types: Mapping[str, Any], needs: Mapping[str, Any] | Sequence[str] = ()) -> Any:
        with self._there(name):
            return read_json(self.folder / name, types, [*needs])

    @contextmanager
    def _there(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise IntraBenchError(
                f"{self.folder} is no rating study, it has no {name}; `intrabench rate design FOLDER` makes one"
            ) from error


class NewStudy:
    """A study that is being written into a folder. Errors are `OSError`, which `new_study` says in a sentence."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.secret = folder, Secret.new()
        self._cases: dict[str, Any] = {}
        self._masks: dict[str, Mapping[str, Any]] = {}
        self._jobs: dict[str, str] = {}

    def write_case(self, code: str, slabs: Slabs) -> None:
        """Write an image."""
        folder = self.folder / "images" / code
        folder.mkdir(parents=True)
        for number in range(len(slabs)):
            (folder / f"{number}.gz").write_bytes(slabs[number])
        self._cases[code] = slabs.about

    def write_job(self, rater: str, mask: str, look: int, shown: Mapping[str, Any], key: Mapping[str, Any]) -> str:
        """Write what a rater gets at a look at a mask, and keep its key. Returns the id of the job."""
        id = f"j{self.secret.code('job', rater, mask, look)[:24]}"
        (self.folder / "jobs").mkdir(exist_ok=True)
        (self.folder / "jobs" / f"{id}.json").write_text(json.dumps({"id": id, **shown}), encoding="utf-8")
        self._masks[mask], self._jobs[id] = key, mask
        return id

    def write_gallery(self, examples: Mapping[str, Any]) -> None:
        """Write the examples for raters, if there are any."""
        if examples:
            write_json(self.folder / GALLERY, examples)

    def write(self, content: Mapping[str, Any]) -> None:
        """Write everything else, and a token for each rater."""
        key = {"secret": self.secret.text, "masks": self._masks, "jobs": self._jobs}
        tokens = {rater: new_token() for rater in content["orders"]}
        write_json(self.folder / "study.json", {"format": FORMAT, **content})
        write_json(self.folder / "cases.json", self._cases)
        write_json(self.folder / "key.json", key, private=True)
        write_json(self.folder / "raters.json", tokens, private=True)


@contextmanager
def new_study(folder: Path) -> Iterator[NewStudy]:
    """A study that is being written beside `folder`, and gets that name once it is complete.

    Raises:
        IntraBenchError: the folder exists already, or cannot be written.
    """
    if folder.exists():
        raise IntraBenchError(f"{folder} exists already; a study is never changed, so give another folder")
    with new_folder(folder) as part:
        yield NewStudy(part)
