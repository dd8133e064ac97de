"""An image that a model has opened, and the sessions on it; runs, people and previews begin theirs here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.engine.job import Job
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.errors import NotApplicable
from intrabench.mask import Plane
from intrabench.metrics.other_targets import OtherTargets
from intrabench.models.base import Predictor
from intrabench.play.adapt import refuse
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.target import Target
from intrabench.volume import Volume


@contextmanager
def opened_image(runner: ModelRunner, volume: Volume, strict: bool) -> Iterator[Predictor]:
    """Open an image for a model, unless it is of a kind that the model does not take.

    strict: also refuse what the model would only note, before the image is encoded.

    Raises:
        NotApplicable: the model does not take this image.
    """
    if volume.array.ndim > 3 and runner.model.grey_only:
        raise NotApplicable("the model takes one grey value per voxel, this image has channels")
    if strict:
        refuse(runner.model.notes(volume))
    with runner.open(volume) as image:
        yield image


def make_session(
    job: Job,
    spec: SessionSpec,
    key: str,
    target: Target,
    volume: Volume,
    scorer: Scorer | None,
    keep_masks: bool,
    others: OtherTargets | None = None,
) -> Session:
    """The session of a spec on a target, or one of those of a joint spec; key: its own.

    target, volume: in the plane of the spec.
    """
    model = spec.runner.model
    return Session(
        key,
        target,
        spec.prompter,
        model.abilities if model.any_plane else model.abilities.across(spec.plane),
        job.protocol,
        dataset=spec.dataset.stored_as.short_spec,  # equal prompts on perturbed images
        seed=spec.seed,
        rounds=job.rounds,
        image=volume,
        strict=job.strict,
        keep_masks=keep_masks,
        metrics=job.metrics,
        scorer=scorer,
        others=others,
    )


def other_targets(stored: StoredCase, plane: Plane, known: Mapping[str, Target]) -> OtherTargets:
    """The targets of a case, for answers in a plane that may fit others better. known: those that are read, by id."""

    def read() -> list[Target]:
        ids = [info.id for info in stored.index.targets]
        missing = [id for id in ids if id not in known]
        others = {one.id: one.turned(plane) for one in (stored.targets(missing) if missing else ())}
        return [known.get(id) or others[id] for id in ids]

    return OtherTargets(read)
