"""A study for a rater without a network: one folder to open in a browser, and the file that comes back."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from intrabench.atomic import new_folder
from intrabench.documents import read_json
from intrabench.errors import IntraBenchError, several
from intrabench.people.pages import page
from intrabench.people.rating.answers import Answers, Taken
from intrabench.people.rating.server import Posted, Refused, checked
from intrabench.people.rating.study import Study


def write_bundle(study: Study, rater: str, folder: Path) -> None:
    """Write ``index.html`` and its data for one rater; nothing in it says what a mask is.

    Raises:
        IntraBenchError: there is no such rater, or the folder exists.
    """
    if rater not in study.raters:
        raise IntraBenchError(f"--rater {rater} is not in this study; it has {', '.join(study.raters)}")
    with new_folder(folder) as part:
        (part / "data").mkdir()
        (part / "index.html").write_text(page("rate", bundle=True), encoding="utf-8")
        _put(part, "study", {**study.about(rater), "done": [], "trained": False})
        for job in {*study.order(rater), *study.content["training"]}:
            shown = json.loads((study.folder / "jobs" / f"{job}.json").read_text(encoding="utf-8"))
            _put(part, f"job-{job}", shown)
            case = shown["case"]
            for slab in sorted(study.image_folder(case).glob("*.gz")):
                if not (part / "data" / f"image-{case}-{slab.stem}.js").exists():
                    _put(part, f"image-{case}-{slab.stem}", base64.b64encode(slab.read_bytes()).decode())


def _put(part: Path, name: str, content: Any) -> None:
    """Data as a script, because pages from a disk may load nothing else."""
    text = json.dumps(content).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    (part / "data" / f"{name}.js").write_text(f"bundled({json.dumps(name)}, {text});\n", encoding="utf-8")


def import_answers(study: Study, file: Path) -> tuple[int, list[str]]:
    """Store the answers of a rater's file; the same file again changes nothing. Returns how many it has, and problems.

    Raises:
        IntraBenchError: the file is no such file, or of another study.
    """
    try:
        content = read_json(file, {"study": str, "rater": str, "answers": list[Any]})
    except FileNotFoundError as error:
        raise IntraBenchError(f"there is no file {file}; the page's button Save answers makes it") from error
    if not {"study", "rater", "answers"} <= content.keys() or content["study"] != study.id:
        raise IntraBenchError(f"{file} has no answers of the study {study.content['title']!r}; give the file it saved")
    if content["rater"] not in study.raters:
        raise IntraBenchError(f"{file} is of {content['rater']!r}, who is not in this study")
    answers, problems, stored = Answers(study.answers_file), [], 0
    try:
        for number, given in enumerate(content["answers"], start=1):
            try:
                answers.add(checked(study, content["rater"], Posted.model_validate(given)))
                stored += 1
            except ValidationError as error:
                field = ".".join(map(str, error.errors()[0]["loc"]))
                problems.append(f"answer {number}: {field or 'it'} is not as expected")
            except (Refused, Taken) as error:
                problems.append(f"answer {number}: {error}")
            except OSError as error:
                raise IntraBenchError(f"{error}; {several(stored, 'answer')} stored, import the file again") from error
    finally:
        answers.close()
    return stored, problems
