"""The session of DAVIS Interactive: an existing script asks for scribbles and submits masks.

::

    with DavisInteractiveSession(davis_root="DAVIS", subset="val", max_nb_interactions=8, max_time=240) as session:
        while session.next():
            sequence, scribbles, new_sequence = session.get_scribbles(only_last=True)
            session.submit_masks(model(sequence, scribbles))
        summary = session.get_global_summary()

The protocol is that of Caelles et al., arXiv:1803.00557, as davisinteractive 1.0.4 ran it.
"""

from __future__ import annotations

import json
import math
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.davis.dataset import Davis
from intrabench.davis.metrics import batched
from intrabench.davis.report import COLUMNS, PUBLISHED, Report, read_report
from intrabench.davis.sample import Sample
from intrabench.davis.summary import METRICS, THRESHOLD_S, Quality, curve, summary
from intrabench.errors import IntraBenchError
from intrabench.files.scribble_file import Scribbles

MOST_INTERACTIONS, MOST_SECONDS = 16, 600.0
"""The limits of the published package. The first is also that of ours where only the time is given, but in compat."""


class OutOfTurn(IntraBenchError, RuntimeError):
    """A verb that is not next; the message says which is."""


class DavisInteractiveSession:
    """Gives scribbles, takes masks, and keeps the report; for each sample, one person's scribbles of a sequence.

    host: only ``localhost``. davis_root: see `intrabench.davis.dataset`. subset: train, val or trainval. max_time:
    seconds per object that a sample may take, or None; in compat all time counts since `next`, else only that between
    `get_scribbles` and `submit_masks`. max_nb_interactions: per sample, or None, which is 16, but in compat until the
    time is over. metric_to_optimize: J, F or J_AND_F; chooses the worst frame, and is the one of the summary.
    report_save_dir: where the report is written; None: here.
    resume: the ``.tmp.csv`` of a session that did not end; samples that are complete there are not asked for again.
    seed: of the robot and of `shuffle`. clock: gives seconds.

    compat: everything as the published package had it, bugs included: its robot, its coordinates, void pixels as an
    object, late answers left out as if they had taken no time, and pandas reports. Else a robot is seeded, never
    silent where there is an error and never outside of it; void pixels do not count; a sample ends when all is right;
    and an answer that is late or that failed (`submit_masks(None)`) costs all that is left of the time.

    Raises:
        IntraBenchError: an option is not possible.
    """

    def __init__(
        self,
        host: str = "localhost",
        user_key: str | None = None,
        davis_root: str | Path | None = None,
        subset: str = "val",
        shuffle: bool = False,
        max_time: float | None = None,
        max_nb_interactions: int | None = 5,
        metric_to_optimize: Quality = "J_AND_F",
        report_save_dir: str | Path | None = None,
        *,
        compat: bool = False,
        resume: str | Path | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if host != "localhost":
            raise IntraBenchError(f"host {host!r}: the server of the challenge is closed; give host='localhost'")
        if metric_to_optimize not in METRICS:
            raise IntraBenchError(f"metric_to_optimize {metric_to_optimize!r}: choose from {', '.join(METRICS)}")
        if max_time is None and max_nb_interactions is None:
            raise IntraBenchError("give max_time, max_nb_interactions or both; without them a session has no end")
        if (max_time is not None and not max_time > 0) or (max_nb_interactions is not None and max_nb_interactions < 1):
            raise IntraBenchError("max_time and max_nb_interactions are above 0")
        self.compat, self.metric, self.seed, self.clock = compat, metric_to_optimize, seed, clock
        self.interactions: float = max_nb_interactions or MOST_INTERACTIONS
        self.max_time = max_time
        if compat:
            self.interactions = min(self.interactions, MOST_INTERACTIONS) if max_nb_interactions else math.inf
            self.max_time = None if max_time is None else min(max_time, MOST_SECONDS)
        self.davis = Davis(davis_root)
        names = self.davis.sequences(subset)
        self.samples = [(name, one) for name in names for one in range(1, self.davis.scribble_sets(name) + 1)]
        if shuffle:
            np.random.default_rng(seed).shuffle(self.samples)
        self.report = Report(Path(report_save_dir or "."), compat)
        self.session_id = uuid.uuid4().hex
        self._left = self.samples.copy()
        self._sample: Sample | None = None
        self._objects: dict[str, int] = {}
        self._asked: float | None = None
        if resume is not None:
            self._resume(Path(resume))

    def __enter__(self) -> DavisInteractiveSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to do: what was submitted is in the report, whose file is renamed once all samples are through."""

    def next(self) -> bool:
        """Go on to the next interaction, of the next sample if this one is through; False at the end.

        Raises:
            OutOfTurn: scribbles were asked for, and no masks submitted.
        """
        if self._asked is not None:
            raise OutOfTurn("the last scribbles have no answer yet; call submit_masks(masks), or submit_masks(None)")
        if self._sample is None or self._through(self._sample):
            self._sample = None
            if not self._left:
                self.report.finish()
                return False
            self._sample = Sample.begin(self.davis, *self._left.pop(0), self.compat, self.seed, self.clock)
        return True

    def get_scribbles(self, only_last: bool = False) -> tuple[str, Scribbles, bool]:
        """The sequence, all its scribbles or only the last ones, and whether it is new; the model's time begins.

        Raises:
            OutOfTurn: `next` or `submit_masks` is due.
        """
        if self._sample is None:
            raise OutOfTurn("there is no sample yet; call next() first, and go on only while it gives True")
        if self._asked is not None:
            raise OutOfTurn("these scribbles were given already; call submit_masks(masks) first")
        if self._through(self._sample):
            raise OutOfTurn(f"{self._sample.sequence} is through; call next() first")
        scribbles = self._sample.scribbles(only_last)
        self._asked = self.clock()
        return self._sample.sequence, scribbles, self._sample.interaction == 0

    def submit_masks(
        self,
        pred_masks: NDArray[np.integer[Any]] | None,
        next_scribble_frame_candidates: Sequence[int] | None = None,
    ) -> None:
        """Score the answer, and draw the next scribbles; the model's time ends.

        pred_masks: objects ``(frame, y, x)``, 0 is background; None: the model failed, and the sample is through.
        next_scribble_frame_candidates: where the robot may draw next, unless (without compat) all is right there; None:
        anywhere. In compat an empty list is as None, and numbers that are no frames are left out.

        Raises:
            OutOfTurn: no scribbles were asked for.
            IntraBenchError: the masks do not fit, or a candidate is no frame. They can be submitted again.
        """
        now, sample = self.clock(), self._sample
        if self._asked is None or sample is None:
            raise OutOfTurn("no scribbles were asked for; call get_scribbles() first")
        masks = None if pred_masks is None else sample.checked(pred_masks)
        candidates = sample.candidates(next_scribble_frame_candidates)
        seconds, self._asked = now - self._asked, None
        sample.interaction += 1
        spent, limit = (now - sample.began if self.compat else sample.spent_s + seconds), self._limit(sample)
        if masks is None or spent > limit:
            sample.ended = True
            status = "failed" if masks is None else "late"
            if status == "late":
                warnings.warn(
                    f"{sample.sequence}: the answer of interaction {sample.interaction} came after {spent:.1f} s and "
                    f"is not scored; {limit:.1f} s are allowed",
                    stacklevel=2,
                )
            if not self.compat:
                self._add(sample, limit - sample.spent_s if math.isfinite(limit) else seconds, status)
            return
        sample.spent_s += seconds
        sample.last = batched(sample.truth, masks, sample.objects)
        self._add(sample, seconds, "ok")
        if self.compat or sample.interaction < self.interactions:
            sample.draw(masks, self._worst(sample), candidates)

    def scribbles_iterator(self, only_last: bool = False) -> Iterator[tuple[str, Scribbles, bool]]:
        """All interactions, one after the other; submit the masks of each before asking for the next."""
        while self.next():
            yield self.get_scribbles(only_last)

    def get_report(self) -> Any:
        """The rows so far as a table of polars; in compat of pandas, with the published columns."""
        if not self.compat:
            return self.report.frame
        try:
            import pandas as pd
        except ImportError:
            raise IntraBenchError("reports in compat need pandas; run: pip install 'intrabench[davis]'") from None
        return pd.DataFrame(self.report.frame.select(*PUBLISHED).to_dict(as_series=False))

    def get_global_summary(self, save_file: str | Path | None = None) -> dict[str, Any]:
        """AUC, the metric after 60 s, and the curve, of all samples, also those that were not reached.

        Without compat also of steps: the quality of an answer counts from when it is there. save_file: written as JSON.
        """
        objects = {name: self._objects.get(name) or self.davis.num_objects(name) for name, _ in self.samples}
        samples = {(name, one): objects[name] for name, one in self.samples}
        played: Any = self.report.frame["interaction"].max() or 1
        interactions = int(self.interactions) if math.isfinite(self.interactions) else int(played)
        found = curve(self.report.frame, samples, interactions, self.max_time, self.metric)
        made = summary(found, self.metric)
        if not self.compat:
            made |= {"auc_step": found.auc_step}
            made["metric_at_threshold"] |= {f"{self.metric}_step": found.at(THRESHOLD_S, step=True)}
        if save_file is not None:
            Path(save_file).write_text(json.dumps(made), encoding="utf-8")
        return made

    def _limit(self, sample: Sample) -> float:
        """Seconds that a sample may take."""
        return math.inf if self.max_time is None else self.max_time * sample.objects

    def _through(self, sample: Sample) -> bool:
        spent = self.clock() - sample.began if self.compat else sample.spent_s
        return sample.ended or sample.interaction >= self.interactions or spent > self._limit(sample)

    def _worst(self, sample: Sample) -> NDArray[np.float64]:
        """(frames,) the quality of each frame, the mean of its objects."""
        j, f = sample.last
        return {"J": j, "F": f, "J_AND_F": 0.5 * j + 0.5 * f}[self.metric].mean(axis=1)

    def _add(self, sample: Sample, seconds: float, status: str) -> None:
        """The rows of an interaction; an answer that does not count has the quality of the one before."""
        j, f = sample.last
        frame, number = (axis.ravel() for axis in np.indices(j.shape))
        rows = pl.DataFrame(
            {
                "session_id": [self.session_id] * j.size,
                "sequence": sample.sequence,
                "scribble_idx": sample.scribble_idx,
                "interaction": sample.interaction,
                "object_id": number + 1,
                "frame": frame,
                "jaccard": j.ravel(),
                "contour": f.ravel(),
                "j_and_f": (0.5 * j + 0.5 * f).ravel(),
                "timing": seconds,
                "human_s": sample.human_s,
                "robot_s": sample.robot_s,
                "status": status,
            },
            schema=COLUMNS,
        ).sort("object_id", "frame")
        self.report.add(rows)
        self._objects[sample.sequence] = sample.objects

    def _resume(self, file: Path) -> None:
        """Keep the samples that are complete in a report, and begin all others anew."""
        rows = read_report(file)
        done = list[tuple[str, int]]()
        for (name, one), part in rows.group_by("sequence", "scribble_idx", maintain_order=True):
            if (name, one) not in self.samples:
                raise IntraBenchError(
                    f"{file} has {name}/{one}, which is no sample of this session; give the same options"
                )
            last = part.filter(pl.col("interaction") == part["interaction"].max())
            whole = len(last) == self.davis.num_objects(str(name)) * len(self.davis.load_annotations(str(name)))
            ended = last["interaction"][0] >= self.interactions or last["status"][0] not in ("ok", None)
            later = rows["sequence"][-1] != name or rows["scribble_idx"][-1] != one
            # A sample is complete if it ended by its limits, or if the session went on to another one.
            if whole and (ended or later):
                done.append((str(name), int(one)))
        kept = pl.DataFrame(done, schema={name: COLUMNS[name] for name in ("sequence", "scribble_idx")}, orient="row")
        rows = rows.join(kept, on=kept.columns, how="semi")
        self.report.restart(file, rows)
        self._left = [sample for sample in self.samples if sample not in done]
        self.session_id = rows["session_id"][0] if len(rows) else self.session_id
