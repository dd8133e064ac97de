"""Play one session of a model to know what it takes; its rows are for that alone."""

from __future__ import annotations

from pathlib import Path

from intrabench.engine.plan import ImageTask
from intrabench.engine.player import Player
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.writer import ResultWriter
from intrabench.results.store import Store, new_run_id


def play_trial(task: ImageTask, folder: Path) -> str:
    """Play the first session of a task whose prompter suits the model, in this process, into a results folder.

    Returns why it failed; empty if it did not.
    """
    writer = ResultWriter(Store(folder, new_run_id()), Silent())
    player = Player(task.job, lambda text: None)
    try:
        for spec in {spec.prompter.spec: spec for spec in reversed(task.specs)}.values():
            player.play(task, [spec], writer.take)
            if writer.summary.computed > writer.summary.inapplicable.total():
                break
    finally:
        task.runner.release()
    return "; ".join(writer.summary.failures)
