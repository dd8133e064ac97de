"""A study for a rater without a network: one folder to open in a browser, and the file that comes back."""

from __future__ import annotations

import base64
import hmac
import json
import os
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import new_folder
from intrabench.files.documents import read_json
from intrabench.people.images import page
from intrabench.people.rating.answers import AlreadyAnswered, Answers
from intrabench.people.rating.secret import signature
from intrabench.people.rating.server import PostedAnswer, answer_of
from intrabench.people.rating.study import OPEN, Study
from intrabench.play.validate import Refused


def write_bundle(study: Study, rater: str, folder: Path) -> None:
    """Write ``index.html`` and its data for one rater; nothing in it says what a mask is.

    It has a secret of this rater, with which the page signs the answers.

    Raises:
        IntraBenchError: there is no such rater, raters could tell masks apart in this study, or the folder exists.
    """
    study.refuse_open()
    if rater not in study.raters:
        raise IntraBenchError(f"--rater {rater} is not in this study; it has {', '.join(study.raters)}")
    with new_folder(folder) as part:
        (part / "data").mkdir()
        (part / "index.html").write_text(page("rate", bundle=True), encoding="utf-8")
        begun = {"done": [], "trained": False, "secret": study.secret.of_answers(rater)}
        _write_script(part, "study", {**study.about(rater), **begun})
        _write_script(part, "gallery", study.gallery())
        for job in (*study.training(rater), *study.order(rater)):
            shown = study.job(job)
            _write_script(part, f"job-{job}", shown)
            case = shown["case"]
            for slab in sorted(study.image_folder(case).glob("*.gz")):
                if not (part / "data" / f"image-{case}-{slab.stem}.js").exists():
                    _write_script(part, f"image-{case}-{slab.stem}", base64.b64encode(slab.read_bytes()).decode())
        written = (part / "index.html").stat().st_mtime
        for path in (*part.rglob("*"), part):  # so that no time says anything
            os.utime(path, (written, written))


def _write_script(part: Path, name: str, content: Any) -> None:
    """Data as a script, because pages from a disk may load nothing else."""
    text = json.dumps(content).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    (part / "data" / f"{name}.js").write_text(f"bundled({json.dumps(name)}, {text});\n", encoding="utf-8")


def import_answers(study: Study, file: Path) -> tuple[int, list[str]]:
    """Store the answers of a rater's file; the same file again changes nothing. Returns how many it has, and problems.

    Raises:
        IntraBenchError: the file is no such file, of another study, or not signed by the bundle of its rater.
    """
    rater, entries = _signed(study, file)
    answers, problems, stored = Answers(study.answers_file), [], 0
    try:
        for number, one in enumerate(entries, start=1):
            try:
                answers.add(answer_of(study, rater, PostedAnswer.model_validate(one)))
                stored += 1
            except ValidationError as error:
                field = ".".join(map(str, error.errors()[0]["loc"]))
                problems.append(f"answer {number}: {field or 'it'} is not as expected")
            except (Refused, AlreadyAnswered) as error:
                problems.append(f"answer {number}: {error}")
            except OSError as error:
                raise IntraBenchError(f"{error}; {several(stored, 'answer')} stored, import the file again") from error
    finally:
        answers.close()
    return stored, problems


def _signed(study: Study, file: Path) -> tuple[str, list[Any]]:
    """The rater of a file and what they answered. The answers stand in it as the text that was signed."""
    text = list[Any] if study.format == OPEN else str
    types = {"study": str, "rater": str, "answers": text, "signature": str}
    try:
        content = read_json(file, types)
    except FileNotFoundError as error:
        raise IntraBenchError(f"there is no file {file}; the page's button Save answers makes it") from error
    if not {"study", "rater", "answers"} <= content.keys() or content["study"] != study.id:
        raise IntraBenchError(f"{file} has no answers of the study {study.content['title']!r}; give the file it saved")
    rater, answers = content["rater"], content["answers"]
    if rater not in study.raters:
        raise IntraBenchError(f"{file} is of {rater!r}, who is not in this study")
    if study.format == OPEN:  # bundles of that time had no secret
        return rater, answers
    expected = signature(study.secret.of_answers(rater), answers)
    if not hmac.compare_digest(expected.encode(), content.get("signature", "").encode()):
        raise IntraBenchError(
            f"{file} was not saved by the bundle of {rater!r}, or changed since; ask {rater!r} to save it again"
        )
    try:
        return rater, TypeAdapter(list[Any]).validate_json(answers)
    except ValidationError as error:
        raise IntraBenchError(f"{file} has no list of answers; save them again") from error
