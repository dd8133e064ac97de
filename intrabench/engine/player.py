"""Play the sessions of a task: with the image opened once, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain

from intrabench import progress
from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.engine.environment import reset_peaks
from intrabench.engine.integrity import REMEDY, IntegrityCheck, IntegrityMonitor
from intrabench.engine.job import Job
from intrabench.engine.opened_image import make_session, opened_image, other_targets
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import SessionBatch, failed, memory, not_applicable
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.engine.write_buffer import Take, WriteBuffer
from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words, several
from intrabench.files.grid import OtherGrid
from intrabench.metrics.other_targets import OtherTargets
from intrabench.models.base import Failure, Predictor, failure_of
from intrabench.models.parts.allocator import return_freed_memory
from intrabench.play.divided import Divided
from intrabench.play.joint import Joint
from intrabench.play.lockstep import LARGEST_BATCH, LAST_BATCH, batches, play
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.superpixels.partitions.annotation import annotation_of
from intrabench.superpixels.partitions.partition import Partition
from intrabench.target import Target
from intrabench.volume import Volume

LARGE = 64 << 20
"""Bytes that the sessions of a batch remembered, from which on it is worth a while to give them back."""


@dataclass(frozen=True, eq=False)
class OpenedTask:
    """A task while its image is open: what its sessions are played on, and the buffer of those that were played.

    targets: those of its sessions. every: all of the case.
    """

    task: ImageTask
    volume: Volume
    targets: Mapping[str, Target]
    every: OtherTargets
    image: Predictor
    buffer: WriteBuffer


class Player:
    """Plays tasks one after the other, in this process.

    say: gets sentences for the user. begins: gets the keys of each batch, with those that are still being scored, and
    none at its end.
    """

    def __init__(
        self,
        job: Job,
        say: Callable[[str], None],
        begins: Callable[[Sequence[str]], None] = lambda keys: None,
    ) -> None:
        self.job, self.say, self.begins = job, say, begins
        self._take: Take = lambda result: None
        self._loaded: ModelRunner | None = None
        self._scorer, self._remembered = Scorer(), 0  # bytes that the model remembered of the last batch's sessions
        self._annotations: dict[tuple[str, ...], Partition] = {}  # of the last case
        self._stored: tuple[Dataset, str, StoredCase] | None = None  # the last case, which the next model needs too

    def play(
        self,
        task: ImageTask,
        specs: Sequence[SessionSpec],
        take: Take,
        suspects: Sequence[Sequence[SessionSpec]] = (),
    ) -> None:
        """Open the image once and play the specs in batches, and then each of the suspects as one batch.

        `take` stores what is finished.

        If somebody changes the scan or a target, the sessions since then do not count. With fresh copies they become
        suspects, each alone, so that only those fail who did it.
        """
        self._take = take
        if self._loaded is not None and self._loaded != task.runner:
            self._loaded.release()  # one model in memory at a time
        self._loaded = task.runner
        left = self._play_opened(task, specs, suspects)
        if left:
            self.say(f"{task.title}: the scan or a target was changed; what played since is played again")
        while left:
            left = self._play_opened(task, (), [[spec] for spec in left])

    def _play_opened(
        self, task: ImageTask, specs: Sequence[SessionSpec], suspects: Sequence[Sequence[SessionSpec]]
    ) -> Sequence[SessionSpec]:
        """Read and open the image and play the specs; returns those that are left because somebody changed the scan."""
        every = [*chain(specs, *suspects)]
        stack, buffer, left = ExitStack(), None, list[SessionSpec]()
        try:
            started = time.perf_counter()
            try:
                with progress.step("opening", "opening the image", task.title), foreign():
                    stored = self._opened(task)
                    volume = stored.volume.turned(task.plane)  # read here, once
                    targets = {target.id: target.turned(task.plane) for target in stored.targets(_ids(every))}
                    specs, suspects = self._present(specs, suspects, targets)
                    every = [*chain(specs, *suspects)]
                    buffer = WriteBuffer(self._take, IntegrityCheck(volume, targets.values()))
                    image = stack.enter_context(opened_image(task.runner, volume, self.job.strict))
                    if suspects and buffer.integrity.broken:
                        raise IntraBenchError(f"model: on opening, it changed the scan, {REMEDY}")
            except NotApplicable as reason:
                self._take(not_applicable(every, in_words(reason)))
            except Exception as error:  # out of memory, a failing network: rows with a status, then the next image
                of_data = buffer is None or isinstance(error, OtherGrid)
                self._fail(task, every, failure_of(error, started), of_data)
            else:
                last = LARGEST_BATCH if image.costly_calls else LAST_BATCH
                coming = batches_of(specs, suspects, self._fullness(task), last)
                opened = OpenedTask(task, volume, targets, other_targets(stored, task.plane, targets), image, buffer)
                left += self.play_batches(opened, coming)
        finally:  # Ctrl-C keeps the sessions that are complete
            if buffer is not None:
                left[:0] = buffer.flush()  # before closing, of which a worker could die
            self._close(task, stack)
            if buffer is not None and (buffer.broken or buffer.integrity.broken):
                self._stored = None  # the next model gets a fresh copy
                self._annotations.clear()
        return left

    def _fullness(self, task: ImageTask) -> Callable[[], float]:
        """How much of the memory for sessions, as much as for embeddings, the last batch took; see `batches`."""
        room = max(1, task.runner.model.runtime.memory_mb) << 20
        return lambda: self._remembered / room

    def _present(
        self, specs: Sequence[SessionSpec], suspects: Sequence[Sequence[SessionSpec]], targets: Mapping[str, Target]
    ) -> tuple[Sequence[SessionSpec], Sequence[Sequence[SessionSpec]]]:
        """The specs but those with a target that left the image when that was moved, which have nothing to segment."""

        def gone(spec: SessionSpec) -> bool:
            here = (targets[info.id].mask.any() or not info.voxels for info in spec.targets)
            return not spec.protocol.partition and not all(here)

        left = [spec for spec in chain(specs, *suspects) if gone(spec)]
        if not left:
            return specs, suspects
        self._take(not_applicable(left, "a target lies outside of the moved image"))
        present = [[spec for spec in each if not gone(spec)] for each in (specs, *suspects)]
        return present[0], present[1:]

    def _close(self, task: ImageTask, stack: ExitStack) -> None:
        """Close the image."""
        try:
            with progress.step("opening", "closing the image", task.title), foreign():
                stack.close()
        except Exception as error:  # the model's own code may raise anything
            self.say(f"{task.title}: closing the image failed ({in_words(error)})")

    def _opened(self, task: ImageTask) -> StoredCase:
        """The case of a task; tasks of one image follow each other, so it is read once."""
        if self._stored is None or self._stored[:2] != (task.dataset, task.case):
            self._stored = None  # keep only one volume in memory
            self._annotations.clear()
            self._stored = task.dataset, task.case, cases.open_case(task.dataset, task.case)
        return self._stored[2]

    def _fail(self, task: ImageTask, specs: Sequence[SessionSpec], failure: Failure, of_data: bool = False) -> None:
        """Rows for specs whose image could not be opened; of_data: not even read, or stored answers lie elsewhere."""
        self.say(f"{task.title}: {failure.message}")
        self._take(failed(specs, failure, of_data))

    def play_batches(
        self, opened: OpenedTask, coming: Iterator[tuple[Sequence[SessionSpec], bool]]
    ) -> Sequence[SessionSpec]:
        """Play batches against their opened image; one that is alone is written before and after it.

        If the scan or a target was changed, what is in the buffer does not count, and this ends; if that was a single
        session, alone, it fails. Returns the specs that are left.
        """
        title, buffer = opened.task.title, opened.buffer
        for batch, alone in coming:
            again: Sequence[SessionSpec] = self._flush(opened) if alone else []
            if buffer.broken:
                again = [*again, *batch]
            else:
                self.begins([spec.key for spec in (*buffer.unscored, *batch)])
                with progress.step("playing", f"playing {several(len(batch), 'session')}", title):
                    again = self._play_batch(opened, batch, alone)
                self.begins([])
            if buffer.broken:
                return [*again, *(spec for rest, _ in coming for spec in rest)]
        return self._flush(opened)

    def _flush(self, opened: OpenedTask) -> Sequence[SessionSpec]:
        """Write what is in the buffer; as long as this waits for scores, their sessions are being played."""
        buffer = opened.buffer
        if buffer.empty:
            return []
        self.begins([spec.key for spec in buffer.unscored])
        with progress.step("playing", "scoring and storing the last sessions", opened.task.title):
            again = buffer.flush()
        self.begins([])
        return again

    def _play_batch(self, opened: OpenedTask, batch: Sequence[SessionSpec], alone: bool) -> Sequence[SessionSpec]:
        """Play one batch; returns the specs that are to be played again because the scan or a target was changed."""
        started, image, buffer, monitor = time.perf_counter(), opened.image, opened.buffer, None
        reset_peaks()
        try:
            with foreign():
                playing = list[Session | Joint | Divided]()
                for spec in batch:
                    playing.append(self._make(opened, spec))
        except Exception as error:  # of a property of the user's own, such as a model's abilities
            self._fail(opened.task, batch, failure_of(error, started))
            return []
        try:
            if alone and len(batch) == 1:
                image = monitor = IntegrityMonitor(image, buffer.integrity)
            self._remembered = play(playing, image, self._scorer)
        finally:
            # also what was complete before an error or Ctrl-C
            buffer.add(SessionBatch(batch, [one.sessions for one in playing], memory()))
            if self._remembered > LARGE:
                return_freed_memory()  # else what a batch left stays beside what the next one remembers
        again = buffer.flush() if alone else buffer.flush_if_due()
        if monitor is None or not again:
            return again
        self._take(failed(batch, Failure("error", monitor.message)))
        return []

    def _make(self, opened: OpenedTask, spec: SessionSpec) -> Session | Joint | Divided:
        """The session of a spec, or its joint session."""
        targets = [opened.targets[info.id] for info in spec.targets]
        if spec.protocol.partition:
            return Divided(spec.key, self._annotation(targets), self.job.metrics)
        own, masks = list[Session](), self.job.save_masks
        for key, target in zip(spec.sessions, targets, strict=True):
            own.append(make_session(self.job, spec, key, target, opened.volume, self._scorer, masks, opened.every))
        rules = spec.protocol.joint
        if rules is None:
            return own[0]
        return Joint(spec.key, own, spec.prompter, rules, whole=spec.runner.model.joint)

    def _annotation(self, targets: Sequence[Target]) -> Partition:
        """The annotation that targets are together."""
        known = tuple(target.id for target in targets)
        if known not in self._annotations:
            self._annotations[known] = annotation_of(targets)
        return self._annotations[known]


def _ids(specs: Sequence[SessionSpec]) -> list[str]:
    return sorted({info.id for spec in specs for info in spec.targets})


def batches_of(
    specs: Sequence[SessionSpec],
    suspects: Sequence[Sequence[SessionSpec]],
    fullness: Callable[[], float] = lambda: 0.0,
    last: int = LAST_BATCH,
) -> Iterator[tuple[Sequence[SessionSpec], bool]]:
    """The batches, and whether each is alone: those that the clock suggests, then the suspects."""
    costs = [sum(info.slices for info in spec.targets) for spec in specs]
    for batch in batches(specs, costs, fullness=fullness, last=last):
        yield batch, False
    yield from ((suspect, True) for suspect in suspects)
