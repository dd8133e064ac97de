"""Train the network of RClicks on clicks with its published recipe; an interrupted training can be continued.

Recipe: scripts/train_click_model.py of https://github.com/emb-ai/rclicks. All random numbers come from streams of the
seed and the epoch, so an interrupted training ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from intrabench.clickability.click_map import SIGMA, SoftMask, click_map
from intrabench.clickability.clicked_images import Example
from intrabench.clickability.letterbox import SIZE, Letterbox, network_input
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.models.networks.segnext import SegNeXtClickability
from intrabench.randomness import stream


@dataclass(frozen=True)
class TrainingInputs(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Examples as network input: image ``(3, size, size)``, masks ``(2, ...)`` and click map ``(1, ...)``.

    flips: name of the random stream that mirrors half of the examples left to right; empty: no flips.
    """

    examples: Sequence[Example]
    size: int = SIZE
    sigma: float = SIGMA
    soft_mask: SoftMask = "code"
    flips: tuple[str | int, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        example = self.examples[index]
        image, target, error = example.image, example.target, example.error
        clicked = click_map(example.clicks, error, self.sigma, self.soft_mask)
        if self.flips and stream(*self.flips, index).random() < 0.5:
            image, target, error, clicked = image[:, ::-1], target[:, ::-1], error[:, ::-1], clicked[:, ::-1]
        image_in, masks_in = network_input(image, target, error, self.size)
        box = Letterbox((error.shape[0], error.shape[1]), self.size)
        return image_in, masks_in, box.put(clicked[..., None])


def kld(predicted: Tensor, true: Tensor) -> Tensor:
    """Kullback-Leibler divergence of maps ``(batch, 1, y, x)``, each divided by its sum, averaged over the batch.

    This is the training loss of RClicks (scripts/train_click_model.py) with its constants against division by zero.
    """
    p, q = (maps / (1e-9 + maps.sum(dim=(1, 2, 3), keepdim=True)) for maps in (predicted, true))
    return (q * torch.log(1e-9 + q / (1e-9 + p))).sum(dim=(1, 2, 3)).mean()


def similarity(predicted: Tensor, true: Tensor) -> Tensor:
    """SIM of maps ``(batch, 1, y, x)`` as ``(batch,)``: the overlap of two distributions, from 0 to 1.

    Each map is scaled to the range 0 to 1 and divided by its sum, as RClicks does to choose its best epoch.
    """
    p, q = (_distribution(maps) for maps in (predicted, true))
    return torch.minimum(p, q).sum(dim=(1, 2, 3))


def _distribution(maps: Tensor) -> Tensor:
    """The map scaled to 0 to 1 and divided by its sum plus 1e-7, in one division; 0 everywhere for a constant map."""
    maps = maps - maps.amin(dim=(1, 2, 3), keepdim=True)
    return maps / (maps.sum(dim=(1, 2, 3), keepdim=True) + 1e-7 * maps.amax(dim=(1, 2, 3), keepdim=True) + 1e-30)


WEIGHTS, STATE, HISTORY = "clickability_model.pth", "training.pth", "training.json"
"""Files: the best epoch's weights; the state to continue from; settings and figures of each epoch, for people."""
WARM_UP = 0.1
"""Share of the steps in which the learning rate increases."""


@dataclass(frozen=True)
class Settings:
    """Settings of the training; the defaults are the published ones.

    lr: the highest learning rate of Adam. size: rows and columns of the network's input. sigma, soft_mask: see
    `click_map`. device and workers (processes that prepare examples; 0: none) do not change the result's identity.
    """

    epochs: int = 20
    batch: int = 16
    lr: float = 0.01
    size: int = SIZE
    sigma: float = SIGMA
    soft_mask: SoftMask = "code"
    seed: int = 0
    device: str = "cpu"
    workers: int = 0


@dataclass(frozen=True)
class Epoch:
    """Figures of one epoch: mean loss in training; KLD and SIM on the validation examples; wall time.

    KLD and SIM are NaN if an answer had NaN; such an epoch is never the best.
    """

    epoch: int
    loss: float
    kld: float
    sim: float
    seconds: float


def train(
    examples: Sequence[Example],
    validation: Sequence[Example],
    folder: Path,
    settings: Settings | None = None,
    report: Callable[[Epoch], None] = lambda _: None,
) -> Path:
    """Train all remaining epochs of the training in `folder` and return the file with the best epoch's weights.

    The best has the highest mean SIM on the validation examples. The file is a plain state dict, which
    ``RClicks(weights=PATH)`` takes. On the CPU of one machine the same examples and settings give the same
    weights. Sequences may read their examples on demand. `report` is called after each epoch.

    Raises:
        IntraBenchError: there are no examples, the folder holds a training with other settings or an incomplete one, or
            the loss is not finite.
    """
    if not len(examples) or not len(validation):
        raise IntraBenchError("training needs at least one example for training and one for validation")
    settings = settings or Settings()
    if folder.exists() and not folder.is_dir():
        raise IntraBenchError(f"{folder} is a file; give a folder for the weights and the training's state")
    folder.mkdir(parents=True, exist_ok=True)
    data = {"examples": examples, "validation": validation}
    training = _Training(settings, {name: [len(one), getattr(one, "identity", "")] for name, one in data.items()})
    training.take_up(folder / STATE)
    while len(training.history) < settings.epochs:
        began = time.perf_counter()
        loss = training.learn(examples)
        found = training.validate(validation)
        scores = [epoch.sim for epoch in training.history if math.isfinite(epoch.sim)]
        best = found[1] > max(scores, default=-math.inf)
        training.history.append(Epoch(len(training.history), loss, *found, time.perf_counter() - began))
        training.save(folder, best)
        report(training.history[-1])
    if not (folder / WEIGHTS).exists():
        raise IntraBenchError(
            f"no epoch in {folder} gave finite maps; train with a lower learning rate in a new folder"
        )
    return folder / WEIGHTS


def learning_rate(step: int, steps: int, highest: float) -> float:
    """The learning rate at a step: linear from 0, then a cosine that would reach 0 one warm-up after the last step.

    Equals timm's CosineLRScheduler with ``warmup_prefix`` and ``t_initial`` of all steps, delayed by one step as in the
    published loop.
    """
    rising = int(WARM_UP * steps)
    if step < rising:
        return highest * step / rising
    return highest * (1 + math.cos(math.pi * (step - rising) / steps)) / 2


@dataclass
class _Training:
    """Network, optimiser and history so far."""

    settings: Settings
    data: dict[str, list[Any]]
    history: list[Epoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        with self._randomness("weights"):
            self.network = SegNeXtClickability().to(self.settings.device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=self.settings.lr)

    def learn(self, examples: Sequence[Example]) -> float:
        """Train one epoch over all examples in a new order and return the mean loss of its steps."""
        epoch = len(self.history)
        order = stream("clickability order", self.settings.seed, epoch).permutation(len(examples)).tolist()
        prepared = replace(self._prepared(examples), flips=("clickability flips", self.settings.seed, epoch))
        self.network.train()
        losses = []
        with self._randomness("epoch", epoch):
            loader = DataLoader(prepared, self.settings.batch, sampler=order, num_workers=self.settings.workers)
            for number, (images, masks, true) in enumerate(loader):
                step, steps = epoch * len(loader) + number, self.settings.epochs * len(loader)
                self.optimiser.param_groups[0]["lr"] = learning_rate(step, steps, self.settings.lr)
                loss = kld(self._predicted(images, masks), true.to(self.settings.device))
                self.optimiser.zero_grad()
                torch.autograd.backward(loss)
                self.optimiser.step()
                losses.append(loss.item())
        mean = sum(losses) / len(losses)
        if not math.isfinite(mean):
            raise IntraBenchError(f"the loss is not finite in epoch {epoch}; train with a lower learning rate")
        return mean

    @torch.inference_mode()
    def validate(self, examples: Sequence[Example]) -> tuple[float, float]:
        """Mean KLD and SIM over examples."""
        self.network.eval()
        divergence, alike = 0.0, 0.0
        with self._randomness("validation"):
            loader = DataLoader(self._prepared(examples), self.settings.batch, num_workers=self.settings.workers)
            for images, masks, true in loader:
                predicted = self._predicted(images, masks).cpu()
                divergence += kld(predicted, true).item() * len(true)
                alike += similarity(predicted, true).sum().item()
        return divergence / len(examples), alike / len(examples)

    def take_up(self, path: Path) -> None:
        """Continue from the state of an earlier training, if there is one.

        Raises:
            IntraBenchError: the state cannot be read, has other settings, or its file of weights is missing.
        """
        from intrabench.models.parts.checkpoints import read

        if not path.exists():
            return
        state = read(path)
        if state.get("identity") != self._identity():
            raise IntraBenchError(
                f"{path} belongs to a training with other settings or examples; repeat those, or give another folder"
            )
        if not path.with_name(WEIGHTS).exists() and any(math.isfinite(one["sim"]) for one in state["history"]):
            raise IntraBenchError(
                f"{path} needs {WEIGHTS} beside it, which is missing; delete it to start the training again"
            )
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.history = [Epoch(**epoch) for epoch in state["history"]]

    def save(self, folder: Path, best: bool) -> None:
        """Write the state last, after all that depends on it: a crash in between only repeats the epoch."""
        network = self.network.state_dict()
        history = [asdict(epoch) for epoch in self.history]
        if best:
            _write(folder / WEIGHTS, lambda path: torch.save(network, path))
        record = json.dumps({"settings": asdict(self.settings), **self.data, "epochs": history}, indent=1)
        _write(folder / HISTORY, lambda path: path.write_text(record, "utf-8"))
        state = {"identity": self._identity(), "history": history, "network": network}
        state["optimiser"] = self.optimiser.state_dict()
        _write(folder / STATE, lambda path: torch.save(state, path))

    def _identity(self) -> dict[str, Any]:
        settings = asdict(self.settings) | self.data
        return {key: value for key, value in settings.items() if key not in ("device", "workers")}

    def _prepared(self, examples: Sequence[Example]) -> TrainingInputs:
        return TrainingInputs(examples, self.settings.size, self.settings.sigma, self.settings.soft_mask)

    def _predicted(self, images: Tensor, masks: Tensor) -> Tensor:
        return self.network(images.to(self.settings.device), masks.to(self.settings.device))

    @contextmanager
    def _randomness(self, *purpose: str | int) -> Iterator[None]:
        """Inside this context, torch uses a stream of the seed and the purpose; the global state is restored."""
        device = torch.device(self.settings.device)
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(int(stream("clickability", self.settings.seed, *purpose).integers(2**62)))
            yield


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    with writing(path), atomically(path) as part:
        write(part)
