"""VoxTell: a 3D network that segments what a text names, through its authors' own predictor.

Source: Rokuss et al., "VoxTell: Free-Text Promptable Universal 3D Medical Image Segmentation", arXiv 2511.11450, and
the package voxtell (https://github.com/MIC-DKFZ/VoxTell), whose predictor does all the work.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Answer, Model, Predictor, Request, SequentialPredictor
from intrabench.models.installing import importing
from intrabench.models.parts.nnunet_folder import check_plans, model_folder, reading
from intrabench.models.weights import registry as weights
from intrabench.progress import encoding
from intrabench.specs.specs import Reach, switch
from intrabench.volume import Volume


@dataclass(eq=False)
class VoxTell(Model):
    """VoxTell: a 3D network for texts, which answers for the whole volume.

    The image is passed unchanged as ``(1, z, y, x)``, the array that the package reads from a file, which it turns to
    RAS. The package crops it to what is not zero, normalises it, ignores the spacing, and writes the text in small
    letters into its instruction. Texts that are asked together look at each other in this network, so each is asked
    alone, once for an image, whatever the number of targets and rounds. The newest text of a session counts.

    The weights are a model folder (plans.json, fold_0/checkpoint_final.pth), as its page has it, without checksums. No
    code from it is run. The architecture is part of the weights, so random weights are refused. On CUDA the package
    itself casts to half precision; ``--dtype float32`` means that official behaviour. The package excludes torch 2.9;
    where its requirements do not fit, `--python` runs it in an environment of its own.

    encoder: the text encoder, a name on the Hugging Face hub (4 billion weights, which transformers downloads once) or
    a folder with its files. bank: a file of embeddings of texts, as the page has one (.npz with labels and embeddings);
    texts that it has need no encoder.
    """

    name = "voxtell"
    weights = "voxtell"
    grey_only = True
    dims = 3
    accepts = frozenset({"text"})
    extra = "voxtell"
    requires = ("voxtell",)
    devices = ("cpu", "cuda")
    threads = 4

    encoder: Annotated[str, Reach("repository")] = switch("Qwen/Qwen3-Embedding-4B")
    bank: Annotated[str, Reach("read")] = switch("")

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With a hash of the bank."""
        return f"1/{weights.sha256_of_path(Path(self.bank))[:12]}" if Path(self.bank).is_file() else "1"

    def check_runnable(self) -> None:
        """Refuse files that are not there."""
        if self.bank and not Path(self.bank).is_file():
            raise IntraBenchError(f"voxtell: bank={self.bank} is no file; give an .npz with embeddings, or omit it")
        if self.encoder.startswith(("/", ".", "~")) and not Path(self.encoder).is_dir():
            raise IntraBenchError(f"voxtell: encoder={self.encoder} is no folder; give that of the text encoder")

    def load(self) -> None:
        """Load the network and its weights now; the text encoder is loaded with the first text that needs it."""
        _ = self.predictor

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Open one image; nothing is computed before the first text.

        Raises:
            IntraBenchError: the extra is not installed, or the model folder is absent, damaged or unsafe.
            ValueError: the image has several channels.
        """
        if volume.array.ndim != 3:
            raise ValueError("VoxTell takes grey volumes, not colour images")
        self.load()
        yield _OneImage(self, volume)

    @cached_property
    def predictor(self) -> Any:
        """The package's predictor with the network, on the runtime's device.

        Raises:
            IntraBenchError: as of `open`.
        """
        folder, package = model_folder(self), self._package()
        import torch

        benchmark = torch.backends.cudnn.benchmark  # the package sets it; choosing kernels by speed makes answers vary
        files = "plans.json and fold_0/checkpoint_final.pth"
        try:
            with reading(self, folder, "VoxTell", files), redirect_stdout(io.StringIO()):
                check_plans(folder, network=False)
                return package.VoxTellPredictor(
                    model_dir=str(folder),
                    device=torch.device(self.runtime.device),
                    text_encoding_model=self.encoder,
                    embedding_bank=self.bank or None,
                    use_precomputed_embeddings=False,  # else it downloads them
                )
        finally:
            torch.backends.cudnn.benchmark = benchmark

    def _package(self) -> Any:
        """The package's module with its predictor, silenced.

        Raises:
            IntraBenchError: it is not installed.
        """
        remedy = f"run: pip install 'intrabench[{self.extra}]', or give --python the interpreter of an environment"
        with importing(f"model {self.name} needs", f"{remedy} that has it"):
            from voxtell.inference import predictor
        if isinstance(getattr(predictor, "tqdm", None), type):  # its bars would be written over ours
            predictor.tqdm = partial(predictor.tqdm, disable=True)
        return predictor

    def embedded(self, text: str) -> Any:
        """What the network gets of a text, rounded to half precision.

        The package does that to texts that it has embedded before, and its bank has them so; without it, answers would
        depend on what was asked earlier.

        Raises:
            IntraBenchError: it needs the text encoder, which cannot be loaded.
        """
        try:
            with redirect_stdout(io.StringIO()):
                return self.predictor.embed_text_prompts([text]).half().float()
        except (OSError, ValueError, ImportError) as error:  # what transformers raises without files
            reason = " ".join(str(error).split()) or type(error).__name__
            raise IntraBenchError(
                f"the text encoder {self.encoder} of voxtell cannot be loaded ({reason[:200]}); give encoder=FOLDER "
                "with its files, or bank=FILE with embeddings of all texts"
            ) from error


class _OneImage(SequentialPredictor):
    """One image, and the masks of the texts that were asked for it so far."""

    def __init__(self, model: VoxTell, volume: Volume) -> None:
        self.model, self.volume = model, volume
        self.masks: dict[str, Mask] = {}

    def answer(self, request: Request) -> Answer:
        """The mask of the newest text."""
        texts = [turn.prompts.text for turn in request.given if turn.prompts.text is not None]
        if not texts:
            raise ValueError("VoxTell needs a text")
        text = texts[-1].lower()  # as the package writes it
        if text not in self.masks:
            embedding = self.model.embedded(text)
            with encoding("segmenting"), redirect_stdout(io.StringIO()):
                found = self.model.predictor.predict_single_image(self.volume.array[None], text_embeddings=embedding)
            self.masks[text] = Mask.of(np.asarray(found)[0] > 0)
        return Answer(self.masks[text])
