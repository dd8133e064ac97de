"""The folder of a rating study: what raters get, the key that they do not, and their answers.

``study.json`` has the orders, ``cases.json`` the images, ``jobs/`` and ``images/`` what pages load; ``key.json`` says
what each job is, and ``raters.json`` has the raters' tokens. The last two are never served.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from intrabench.atomic import unique, writing
from intrabench.documents import read_json
from intrabench.errors import IntraBenchError
from intrabench.people.images import Slabs
from intrabench.people.rating import guideline

FORMAT = 1


class Study:
    """An open study. Whatever a browser names is looked up in what is known, so no path comes from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cases: dict[str, Any] = {}
        self._keys: dict[str, Any] = {}
        self._see: dict[str, tuple[int, int]] = {}

    @classmethod
    def open(cls, folder: Path) -> Study:
        """A study that was designed.

        Raises:
            IntraBenchError: there is none, or it is damaged.
        """
        study = cls(folder)
        if study.content.get("format") != FORMAT:
            raise IntraBenchError(
                f"{folder / 'study.json'} is of another version of IntraBench; design the study again"
            )
        return study

    @cached_property
    def content(self) -> dict[str, Any]:
        """``study.json``: title, guideline, questions, training, and the order of each rater."""
        types = {"format": int, "title": str, "questions": list[str], "training": list[str], "orders": dict[str, Any]}
        return self._read("study.json", types)

    @cached_property
    def cases(self) -> dict[str, Any]:
        """What pages must know of each image, by its code."""
        return self._read("cases.json", {})

    @cached_property
    def key(self) -> dict[str, Any]:
        """What each job is, by its id: the secret of the study."""
        return self._read("key.json", {})

    @cached_property
    def tokens(self) -> dict[str, str]:
        """The token of each rater."""
        return self._read("raters.json", {})

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
            "training": self.content["training"],
            "order": self.order(rater),
        }

    def job_file(self, job: str) -> Path | None:
        """What pages load of a job; None if there is no such job."""
        return self.folder / "jobs" / f"{job}.json" if job in self.key else None

    def see(self, job: str) -> tuple[int, int]:
        """The axial slices ``first, last`` (half-open) that must be seen before a mask is rated."""
        if job not in self._see:
            path = self.folder / "jobs" / f"{job}.json"
            first, last = read_json(path, {"see": list[int]})["see"]
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

    def write_case(self, code: str, slabs: Slabs) -> None:
        """Write an image."""
        folder = self.image_folder(code)
        folder.mkdir(parents=True)
        for number in range(len(slabs)):
            (folder / f"{number}.gz").write_bytes(slabs[number])
        self._cases[code] = slabs.about

    def write_job(self, id: str, shown: Mapping[str, Any], key: Mapping[str, Any]) -> None:
        """Write a job, and keep its key."""
        (self.folder / "jobs").mkdir(exist_ok=True)
        (self.folder / "jobs" / f"{id}.json").write_text(json.dumps(shown), encoding="utf-8")
        self._keys[id] = key

    def write(self, content: Mapping[str, Any]) -> None:
        """Write everything else, and a token for each rater."""
        tokens = {rater: secrets.token_urlsafe(24) for rater in content["orders"]}
        for name, written in (
            ("study.json", {"format": FORMAT, **content}),
            ("cases.json", self._cases),
            ("key.json", self._keys),
            ("raters.json", tokens),
        ):
            path = self.folder / name
            path.write_text(json.dumps(written, indent=1, allow_nan=False) + "\n", encoding="utf-8")
            if name in ("key.json", "raters.json"):
                path.chmod(0o600)

    def _read(self, name: str, types: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return read_json(self.folder / name, types)
        except FileNotFoundError as error:
            raise IntraBenchError(
                f"{self.folder} is no rating study, it has no {name}; `intrabench rate design FOLDER` makes one"
            ) from error


@contextmanager
def new_study(folder: Path) -> Iterator[Study]:
    """A study that is being written beside `folder`, and gets that name once it is complete.

    Raises:
        IntraBenchError: the folder exists already, or cannot be written.
    """
    if folder.exists():
        raise IntraBenchError(f"{folder} exists already; a study is never changed, so give another folder")
    part = folder.with_name(f".{folder.name}.{unique()}.part")
    try:
        with writing(folder):
            part.mkdir(parents=True)
        yield Study(part)
        with writing(folder):
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
