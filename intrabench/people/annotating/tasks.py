"""What people are asked to segment, and the sessions that this makes, under codes that tell nothing."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from intrabench.datasets.cases.trusted_folders import note_given
from intrabench.engine.job import Job
from intrabench.engine.make_job import make_run
from intrabench.engine.options import Options, chosen
from intrabench.engine.plan import ImageTask, Plan
from intrabench.engine.session_spec import SessionSpec
from intrabench.errors import IntraBenchError
from intrabench.mask import Index
from intrabench.play.validate import Refused
from intrabench.prompters.human import Human

State = Literal["new", "begun", "finished"]
ROUNDS = 1000
"""Corrections that a person may give, without ``--rounds``."""


@dataclass(frozen=True)
class Task:
    """A target, as a person sees it in a list.

    code: opaque, the same for everybody and after a restart. scan: one for all targets of a case. target: what people
    call it. shape, spacing_mm: of the scan, ``z, y, x``. middle: a voxel in the middle of its box, where other targets
    of the case have the same name, so that nobody could know which is meant; else None. turns: given so far.
    """

    code: str
    scan: str
    target: str
    shape: Index
    spacing_mm: tuple[float, float, float]
    middle: Index | None
    state: State = "new"
    turns: int = 0


class Tasks:
    """The tasks of a run. salt: makes the codes."""

    def __init__(self, image_tasks: Sequence[ImageTask], salt: str) -> None:
        self._places = dict[str, tuple[ImageTask, SessionSpec, Task]]()
        self._units = dict[tuple[str, str], SessionSpec]()
        self._people = dict[str, Human]()
        for image_task in image_tasks:
            scan = _code(salt, image_task.dataset.spec, image_task.case)
            called = {spec.targets[0].id: image_task.dataset.card.called(spec.targets[0]) for spec in image_task.specs}
            alike = Counter(called.values())
            exact = Counter((called[one.targets[0].id], one.targets[0].instance) for one in image_task.specs)
            for spec in image_task.specs:
                (info,) = spec.targets
                if not info.voxels:
                    continue  # nobody can prompt it
                name = called[info.id]
                several = alike[name] > 1
                z0, y0, x0, z1, y1, x1 = info.box
                if several:
                    name = f"{name}.{info.instance}" if exact[name, info.instance] == 1 else info.id
                middle = ((z0 + z1) // 2, (y0 + y1) // 2, (x0 + x1) // 2) if several else None
                code = _code(salt, image_task.dataset.spec, image_task.case, info.id)
                task = Task(code, scan, name, image_task.index.shape, image_task.index.spacing_mm, middle)
                self._places[code] = image_task, spec, task

    def __len__(self) -> int:
        return len(self._places)

    @property
    def all(self) -> list[Task]:
        """All tasks, in the order of the data."""
        return [task for _, _, task in self._places.values()]

    def image_task(self, code: str) -> ImageTask:
        """The case and the model of a task.

        Raises:
            Refused: there is no such task.
        """
        return self._place(code)[0]

    def target(self, code: str) -> str:
        """The id of a task's target.

        Raises:
            Refused: there is no such task.
        """
        return self._place(code)[1].targets[0].id

    def spec(self, code: str, rater: str) -> SessionSpec:
        """The session of a person for a task.

        Raises:
            Refused: there is no such task, or the rater is no pseudonym.
        """
        if (code, rater) not in self._units:
            _, spec, _ = self._place(code)
            self._units[code, rater] = replace(spec, prompter=self._person(rater))
        return self._units[code, rater]

    def _place(self, code: str) -> tuple[ImageTask, SessionSpec, Task]:
        if code not in self._places:
            raise Refused("there is no such task; go back to the list")
        return self._places[code]

    def _person(self, rater: str) -> Human:
        if rater not in self._people:  # one object each, for which keys keep what they share
            try:
                self._people[rater] = Human(rater)
            except (ValueError, TypeError) as error:
                raise Refused(str(error)) from error
        return self._people[rater]


def _code(salt: str, *names: str) -> str:
    return hmac.new(salt.encode(), repr(names).encode(), hashlib.sha256).hexdigest()[:16]


def run_of(arguments: Mapping[str, Any]) -> tuple[Options, Job]:
    """The options and the objects of a run in which people prompt one model."""
    if arguments.get("prompter") or arguments.get("refine") or arguments.get("hand"):
        raise IntraBenchError("people prompt here; omit --prompter, --refine and --hand")
    rounds = ROUNDS if arguments.get("rounds") is None else arguments["rounds"]
    options = replace(chosen({**arguments, "rounds": rounds, "save_masks": True}), prompter=("human",))
    job = make_run(options)
    wrong = ""
    if len(job.runners) != 1:
        wrong = f"{len(job.runners)} models were given; give one with --model"
    elif job.protocol.partition or job.protocol.joint:
        wrong = f"protocol {job.protocol.id} is not played target by target; give another with --protocol"
    elif len(job.seeds) != 1:
        wrong = "people have no seeds; omit --seed"
    if wrong:
        for runner in job.runners:
            runner.close()
        raise IntraBenchError(wrong)
    note_given(job.datasets)
    return options, job


def in_order(plan: Plan) -> list[ImageTask]:
    """The tasks in the order of the job's cases."""
    selected = [one for one in plan.job.selected() if one in plan.ready]
    return [image_task for one in selected for image_task in plan.tasks(*one, plan.ready[one])]
