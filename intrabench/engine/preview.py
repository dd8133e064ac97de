"""Pictures of the prompts on a scan: the first prompts, or with a model those of each round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.datasets.cases.selection import select_cases, select_targets
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.engine.job import Job
from intrabench.engine.make_job import make_job
from intrabench.engine.opened_image import make_session, opened_image
from intrabench.engine.options import Options
from intrabench.engine.session_spec import SessionSpec
from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import dialogue
from intrabench.prompters.user import User
from intrabench.prompts import Prompts
from intrabench.reporting.pictures import Picture
from intrabench.reporting.windows import check_window
from intrabench.specs.specs import nearest
from intrabench.target import Target
from intrabench.turns import turns_by_round
from intrabench.volume import Volume


def preview(
    options: Options, case: str | None = None, target: str | None = None, window: str = "", plane: str = "acquisition"
) -> Iterator[tuple[str, Picture]]:
    """Yield pictures of the prompts on a target (default: the first case and target), each with its name.

    Without a model there is one picture of the first prompts, whose name is empty. With a model there is one per round,
    ``round0``, ``round1``, ... Each shows the new prompts of the round, also derived ones, and the answer. If a round
    fails, the rounds before it are drawn. window: as of `Picture`. plane: in which the user
    reads the scan, as of `Slices`.
    """
    check_window(window)
    if not options.model and options.rounds is not None:
        raise IntraBenchError(
            "--rounds needs --model, because corrections depend on its answers; give a model or omit --rounds"
        )
    job = make_job(replace(options, protocol=f"overlap@2:plane={plane}"))
    stored, found = _find(job.datasets[0], case, target)
    read_in = job.plane(stored.index)
    volume, found = stored.volume.turned(read_in), found.turned(read_in)
    what = f"{job.datasets[0].short_spec} / {found.case} / {found.id}   seed {job.seeds[0]}"
    if not job.runners:
        lines = (f"{job.prompters[0].spec}   {what}",)
        yield "", Picture(volume, found, [_first(job, found, volume)], lines=lines, window=window)
        return
    for name, picture in _rounds(job, found, volume, what):
        yield name, replace(picture, window=window)


def write(picture: Picture, name: str, path: Path) -> Path:
    """Write a picture to a path, with its name before the ending; the file written."""
    path = path.with_stem(f"{path.stem}_{name}") if name else path
    try:
        picture.save(path)
    except ValueError as error:
        raise IntraBenchError(f"cannot write the picture {path} ({error}); give a path that ends in .png") from error
    return path


def _find(dataset: Dataset, case: str | None, target: str | None) -> tuple[StoredCase, Target]:
    """The requested case and target."""
    case = select_cases(dataset, [case] if case else [])[0]
    index = store.prepare(dataset, case)
    chosen = select_targets(index, [target] if target else [])
    if not chosen:
        known = [info.id for info in index.targets]
        raise IntraBenchError(
            f"--target {target} matches nothing in {dataset.short_spec}, case {case}{nearest(target or '', known)}; "
            f"its targets are {', '.join(known)}"
        )
    stored = store.open_case(dataset, case)
    return stored, stored.targets([chosen[0].id])[0]


def _first(job: Job, target: Target, volume: Volume) -> Prompts:
    prompter = job.prompters[0]
    user = User(target, job.datasets[0].stored_as.short_spec, job.seeds[0], volume, prompter.spec)
    try:
        with foreign():
            turn = next(dialogue(prompter, user), None)
    except Exception as error:  # the prompter's own code may raise anything
        raise IntraBenchError(f"prompter {prompter.spec} failed ({in_words(error)}); repair it") from error
    if turn is None:
        raise IntraBenchError(f"prompter {prompter.spec} gave no prompts for {target.id}; try another target")
    return turn.prompts


def _rounds(job: Job, target: Target, volume: Volume, what: str) -> Iterator[tuple[str, Picture]]:
    """Play a session; a picture of each round."""
    spec = SessionSpec(
        job.protocol,
        job.runners[0],
        job.prompters[0],
        job.datasets[0],
        target.case,
        (target.info(),),
        job.seeds[0],
        plane=volume.plane,
    )
    session = _played(job, spec, target, volume)
    model, prompter = spec.runner.model.short_spec, spec.prompter.spec
    given = turns_by_round(session.turns)
    for row, mask in zip(session.rows, session.masks, strict=True):
        if row["dice"] is None or row["error"]:
            raise IntraBenchError(
                f"round {row['round']} of {prompter} with {model} ended as {row['status']} "
                f"({row['error']}); try another model or prompter"
            )
        state = f"round {row['round']}   Dice {row['dice']:.3f}   {row['interactions']:g} interactions so far"
        new = [turn.prompts for turn in given.get(row["round"], [])]
        yield f"round{row['round']}", Picture(volume, target, new, mask, (f"{prompter}   {model}", what, state))


def _played(job: Job, spec: SessionSpec, target: Target, volume: Volume) -> Session:
    """Play a session to its end and keep its masks."""
    session = make_session(job, spec, "preview", target, volume, None, keep_masks=True)
    try:
        with foreign(), opened_image(spec.runner, volume, job.strict) as image:
            play([session], image)
    except NotApplicable as reason:
        raise IntraBenchError(
            f"model {spec.runner.model.name} does not take this scan ({in_words(reason)}); try another model or scan"
        ) from reason
    except IntraBenchError:
        raise
    except Exception as error:  # out of memory, a broken network
        raise IntraBenchError(
            f"model {spec.runner.model.name} cannot open the scan ({in_words(error)}); try another device or model"
        ) from error
    return session
