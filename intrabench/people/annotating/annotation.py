"""People segment the targets of a data set with one model: what the page of ``intrabench annotate`` calls.

A turn is checked, then written to the log, then played. So a process that is killed at any moment loses nothing: the
next one plays the turns of the log again. A finished session is stored as any session of a run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

import polars as pl

from intrabench.engine.manifest import Manifest
from intrabench.engine.options import Options
from intrabench.engine.plan import ImageTask, make_plan, prepare
from intrabench.engine.progress.reporter import Reporter, Silent
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.writer import ResultWriter
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.files.locks import Busy, locked
from intrabench.mask import Mask
from intrabench.people.annotating.log import FILE, Event, EventKind, Log, TimedAction, kept, write_actions
from intrabench.people.annotating.shared_image import PersonSession, SharedImage
from intrabench.people.annotating.tasks import Task, Tasks, in_order, run_of
from intrabench.play.gestures import Gesture, check_time, turn_of
from intrabench.play.scorer import Scorer
from intrabench.play.validate import Refused
from intrabench.results.compact import tidy
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows
from intrabench.results.store import Store, new_run_id
from intrabench.turns import Turn
from intrabench.volume import Volume

SESSIONS = 8
"""Sessions of a case that stay in memory; those that were used longest ago are played again when they are needed."""


SILENT = Silent()


@dataclass(frozen=True)
class View:
    """Where a session stands.

    mask: the answer so far, empty before the first turn. turns: those that were not taken back. problem: why the last
    turn has no answer, a sentence; then it is taken back, or the session finished as it is. model_s: seconds that the
    model took for the last answer, as the person waited for it.
    """

    mask: Mask
    turns: tuple[Turn, ...]
    finished: bool
    problem: str = ""
    model_s: float = 0.0


class Annotation:
    """A run in which people prompt. Several threads may use it; one call at a time plays.

    Every change comes with an id that its caller made up, so that a message that arrives twice changes nothing twice.
    """

    def __init__(
        self, arguments: Mapping[str, Any], folder: Path, reporter: Reporter = SILENT, images: int = 2
    ) -> None:
        """arguments: the options of a run by name, with one model; without prompters. folder: of the results.

        Cases that are not there yet are downloaded and converted. images: cases that stay opened.

        Raises:
            IntraBenchError: an option is wrong, or other people annotate into this folder.
        """
        self.folder, self._reporter, self._images = folder, reporter, images
        self._lock, self._scorer = RLock(), Scorer()
        self._opened = dict[ImageTask, SharedImage]()  # that of the last use last
        options, self._job = run_of(arguments)
        with ExitStack() as stack:
            for runner in self._job.runners:
                stack.callback(runner.close)
            self._writer = self._begin(stack, options)
            image_tasks = self._groups()
            self._log = Log(folder / "people" / FILE)
            stack.callback(self._log.close)
            self._tasks = Tasks(image_tasks, self._log.salt)
            self._writer.summary.total = len(self._tasks)
            self._elsewhere = _played_by_people(folder) - self._log.ever_finished()
            stack.callback(self._close_images)
            self._store_the_rest()
            self._stack = stack.pop_all()

    def __enter__(self) -> Annotation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what it holds. What is not finished is continued another time."""
        with self._lock:
            self._stack.close()

    def tasks(self, rater: str) -> list[Task]:
        """What there is to do, and how far the rater is.

        Raises:
            Refused: the rater is no pseudonym.
        """
        states, found = self._log.states(), list[Task]()
        for task in self._tasks.all:
            key = self._tasks.spec(task.code, rater).key
            turns, finished = states.get(key, (0, False))
            state = "finished" if finished or key in self._elsewhere else "begun" if turns else "new"
            found.append(replace(task, state=state, turns=turns))  # type: ignore[arg-type]
        return found

    @property
    def id(self) -> str:
        """What tells annotations in one browser apart; nothing can be read from it."""
        return hashlib.sha256(self._log.salt.encode()).hexdigest()[:16]

    @property
    def takes(self) -> list[str]:
        """The kinds of prompts that the model takes; others are converted for it."""
        return sorted(self._job.runners[0].model.abilities.accepts)

    def reference(self, code: str) -> Mask:
        """The mask of a task's target, for whoever may see it.

        Raises:
            Refused, IntraBenchError: as of `scan`.
        """
        with self._lock:
            return self._open(self._tasks.image_task(code)).target(self._tasks.target(code)).mask

    def scan(self, code: str) -> Volume:
        """The scan of a task, which is opened if it is not.

        Raises:
            Refused: there is no such task.
            IntraBenchError: it cannot be opened; or a run plays it just now.
        """
        with self._lock:
            return self._open(self._tasks.image_task(code)).volume

    def view(self, code: str, rater: str) -> View:
        """Where a session stands; opens the scan and plays again what was given before.

        Raises:
            Refused, IntraBenchError: as of `scan`.
        """
        with self._lock:
            spec = self._tasks.spec(code, rater)
            events = self._log.events(spec.key)
            if spec.key in self._elsewhere or (events and events[-1].kind == "finish"):
                masks = read_masks(self.folder, spec.key) or [Mask.empty()]
                return View(masks[-1], tuple(event.turn for event in kept(events)), True)
            session = self._session(spec, code, events)
            return View(session.mask, tuple(session.history), False, session.problem, session.model_s)

    def give(self, code: str, rater: str, id: str, gestures: Sequence[Gesture]) -> View:
        """Play a turn; a turn that is refused changes nothing.

        Raises:
            Refused: what is wrong with it, in a sentence for the person.
            IntraBenchError: as of `scan`, or the log cannot be written.
        """
        with self._lock:
            spec = self._tasks.spec(code, rater)
            if not self._is_known(spec, id):
                self._check_open(spec)
                turn = turn_of(gestures)
                session = self._session(spec, code, self._log.events(spec.key))
                session.check(turn)
                text = json.dumps(turn.to_json(), separators=(",", ":"))
                timed = tuple(map(TimedAction.of, gestures))
                # The log comes first: if this process ends while the model answers, the turn is played again from
                # there.
                self._log.add(rater, code, Event(id, spec.key, "turn", text, None, timed))
                with self._whole(spec, code):
                    session.give(turn)
                self._log.measured(id, session.model_s)
            return self.view(code, rater)

    def undo(self, code: str, rater: str, id: str, seconds: float = 0.0, at: float = 0.0) -> View:
        """Take the last turn back: what was given before is played again, in a fresh session.

        Raises:
            Refused: there is none.
            IntraBenchError: as of `give`.
        """
        with self._lock:
            spec = self._tasks.spec(code, rater)
            if not self._is_known(spec, id):
                self._check_open(spec)
                events = self._log.events(spec.key)
                if not kept(events):
                    raise Refused("nothing was given that could be taken back")
                self._add(spec, code, id, "undo", seconds, at)
                self._forget(spec, code)
            return self.view(code, rater)

    def finish(self, code: str, rater: str, id: str, seconds: float = 0.0, at: float = 0.0, comment: str = "") -> View:
        """End a session and store its rows, turns and masks, and what the person has to say.

        Raises:
            Refused: nothing was given yet.
            IntraBenchError: as of `give`; or the results cannot be written, which may be tried again with the same id.
        """
        with self._lock:
            spec = self._tasks.spec(code, rater)
            if not self._is_known(spec, id):
                self._check_open(spec)
                if not kept(self._log.events(spec.key)):
                    raise Refused("nothing was given yet; click or draw something first")
                self._add(spec, code, id, "finish", seconds, at, comment)
            if any(session == spec.key for session, *_ in self._log.unstored()):
                self._store(spec, code, rater)
            return self.view(code, rater)

    def reopen(self, code: str, rater: str, id: str, seconds: float = 0.0, at: float = 0.0) -> View:
        """Go on with a finished session; what was stored counts until it is finished again.

        Raises:
            Refused: it is not finished, was not played here, or the study is closed.
            IntraBenchError: as of `give`.
        """
        with self._lock:
            spec = self._tasks.spec(code, rater)
            if not self._is_known(spec, id):
                self._check_not_closed()
                if spec.key in self._elsewhere:
                    raise Refused("this target was finished elsewhere, so it cannot be opened again")
                if not self._log.states().get(spec.key, (0, False))[1]:
                    raise Refused("this target is not finished")
                self._add(spec, code, id, "reopen", seconds, at)
            return self.view(code, rater)

    @property
    def closed(self) -> bool:
        """Whether the owner has closed the study, so that nothing can be changed any more."""
        return self._log.closed

    def rest(self, idle_s: float) -> None:
        """Close the images for which nobody asked in so many seconds, so that runs may play there.

        They are opened again for whoever comes back.
        """
        with self._lock:
            for image_task, opened in list(self._opened.items()):
                if time.monotonic() - opened.used >= idle_s:
                    self._opened.pop(image_task).close()

    def _begin(self, stack: ExitStack, options: Options) -> ResultWriter:
        """Hold the folder, and begin the record of the run."""
        run_id = new_run_id()
        self._manifest = Manifest(options, self._job)
        writer = ResultWriter(Store(self.folder, run_id, self._manifest.opening), self._reporter)
        try:
            stack.enter_context(locked(self.folder / "locks" / "annotating.lock"))
        except Busy as busy:
            raise IntraBenchError(
                f"people annotate into {self.folder} already, by {busy}; choose another folder with --out, and merge"
            ) from busy
        stack.callback(tidy, self.folder)
        stack.enter_context(self._manifest.kept(writer.store, writer.summary))
        return writer

    def _groups(self) -> list[ImageTask]:
        """The cases, all of them ready; what cannot be prepared is said and left out."""
        plan = make_plan(self._job, self._reporter)
        for dataset, case in plan.waiting:
            try:
                plan.ready[dataset, case] = prepare(dataset, case, self._reporter)
            except Exception as error:  # whatever a data set of the user's raises
                plan.lost.append((dataset, case))
                self._reporter.say(f"{dataset.short_spec}, case {case}: {in_words(error)}")
        for line in plan.notes():
            self._reporter.say(line)
        self._manifest.prepared = plan.ready
        return in_order(plan)

    def _is_known(self, spec: SessionSpec, id: str) -> bool:
        """Whether the change with this id was made already."""
        if not isinstance(id, str) or not 8 <= len(id) <= 100:
            raise Refused("a change needs an id of 8 to 100 characters, which is used for no other one")
        session = self._log.session_of(id)
        if session not in (None, spec.key):
            raise Refused("this id was used in another session; make a new one")
        return session is not None

    def _check_not_closed(self) -> None:
        if self.closed:
            raise Refused("this study is closed; nothing can be changed any more")

    def _check_open(self, spec: SessionSpec) -> None:
        self._check_not_closed()
        if spec.key in self._elsewhere or self._log.states().get(spec.key, (0, False))[1]:
            raise Refused("this target is finished; open it again, or go on with another one")

    def _add(
        self, spec: SessionSpec, code: str, id: str, kind: EventKind, seconds: float, at: float, comment: str = ""
    ) -> None:
        check_time(seconds, at)
        timed = TimedAction(kind, None, float(seconds), float(at))
        self._log.add(_rater(spec), code, Event(id, spec.key, kind, comment or None, None, (timed,)))

    def _open(self, image_task: ImageTask) -> SharedImage:
        """The opened case, for which another one may be closed."""
        if (opened := self._opened.pop(image_task, None)) is None:
            while len(self._opened) >= self._images:
                self._opened.pop(next(iter(self._opened))).close()
            opened = SharedImage(image_task, self.folder, self._scorer)
        self._opened[image_task] = opened
        opened.used = time.monotonic()
        return opened

    def _session(self, spec: SessionSpec, code: str, events: Sequence[Event]) -> PersonSession:
        """The session in play; the turns of the log are played again if it is not in memory."""
        opened = self._open(self._tasks.image_task(code))
        if spec.key not in opened.sessions:
            while len(opened.sessions) >= SESSIONS:
                opened.sessions.pop(next(iter(opened.sessions)))
            with self._whole(spec, code):
                session = opened.session(spec)
                for event in kept(events):
                    session.give(event.turn)
                    self._log.measured(event.id, session.model_s)
        return opened.session(spec)

    def _whole(self, spec: SessionSpec, code: str) -> ExitStack:
        """A context at whose premature end the session is forgotten, because it may be played in part."""
        stack = ExitStack()
        stack.push(lambda kind, *_: self._forget(spec, code) if kind else None)
        return stack

    def _forget(self, spec: SessionSpec, code: str) -> None:
        if opened := self._opened.get(self._tasks.image_task(code)):
            opened.sessions.pop(spec.key, None)

    def _store_the_rest(self) -> None:
        """Store what was finished, but not stored when the last process ended."""
        for session, rater, code in self._log.unstored():
            with suppress(Refused):  # of other targets, or of another model or version
                spec = self._tasks.spec(code, rater)
                if spec.key == session:
                    try:
                        self._store(spec, code, rater)
                    except IntraBenchError as error:
                        self._reporter.say(f"{code} of {rater} is finished, but not stored yet: {error}")

    def _store(self, spec: SessionSpec, code: str, rater: str) -> None:
        """Store a finished session, once."""
        events = self._log.events(spec.key)
        session = self._session(spec, code, events)
        session.finish()
        part = self._opened[self._tasks.image_task(code)].part(spec)
        last = part.rows[-1]
        # The rows are there already if the last process ended after it wrote them and before the log said so.
        rows = read_rows(self.folder, ["session", "round", "prompts_hash"], metrics=False)
        stored = rows.filter(pl.col("session") == spec.key).sort("round").tail(1)
        if stored.select("round", "prompts_hash").rows() != [(last["round"], last["prompts_hash"])]:
            self._writer.take(part)
        write_actions(self.folder, spec.key, rater, events)
        self._log.stored(spec.key)
        self._forget(spec, code)

    def _close_images(self) -> None:
        for opened in self._opened.values():
            with suppress(Exception), foreign():
                opened.close()
        self._opened.clear()


def _played_by_people(folder: Path) -> set[str]:
    """The sessions of people whose rows are in the folder."""
    rows = read_rows(folder, ["session", "prompter", "status"], metrics=False)
    people = rows.filter(pl.col("prompter").str.starts_with("human:"), pl.col("status") != "not_applicable")
    return set(people["session"].to_list())


def _rater(spec: SessionSpec) -> str:
    return str(getattr(spec.prompter, "rater", ""))
