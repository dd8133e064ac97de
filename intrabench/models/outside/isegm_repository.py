"""A click network of a repository with the package `isegm`: from its checkpoint to predictors, and their states.

The interface is that of RITM (https://github.com/SamsungLabs/ritm_interactive_segmentation): `load_is_model` makes a
network from what a checkpoint holds, `get_predictor` a predictor for one image, and `get_prediction` the probabilities
for a list of clicks. The predictor remembers its last prediction and where it zoomed in. SegNext has fewer names for
the same (`BasePredictor`, `set_image`, `predict`).
"""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.identity.sources import hash_of

PARTS = ("config", "state_dict")
"""What a checkpoint holds."""
SHARED = ("original_image", "image_feats")
"""What a predictor knows of its image; the rest is its state."""
NAME = "isegm"
INFERENCE = Path(NAME, "inference", "utils.py")
"""A file that all of these packages have."""


def root_of(repo: Path) -> Path:
    """The folder from which the package of a repository is imported: the repository itself, or a folder in it.

    Raises:
        IntraBenchError: there is none.
    """
    if not repo.is_dir():
        raise IntraBenchError(f"isegm: repo={repo} is no folder; give the clone of a repository such as RITM")
    found = [folder for folder in (repo, *sorted(repo.iterdir())) if (folder / INFERENCE).is_file()]
    if not found:
        raise IntraBenchError(
            f"isegm: {repo} has no package isegm ({INFERENCE} is missing); give the clone of RITM, ClickSEG, "
            "SimpleClick or another repository that was built on them"
        )
    return found[0].resolve()


def code_of(root: Path) -> str:
    """8 hex digits of the code of the package `isegm` as it stands; a commit would not know of local changes."""
    files = sorted((root / NAME).rglob("*.py"))
    return hash_of({file.relative_to(root).as_posix(): file.read_bytes() for file in files})


class Package:
    """The package in one folder, and all other modules that come from there.

    RITM and those who built on it all call their package `isegm`, so that two of them never fit into one Python
    process. Here each is imported from its own folder, and the name means it only while it works.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside, `isegm` means this package, its random numbers are always the same, and what it prints is dropped.

        So neither another repository nor the company of a request changes an answer. There are no gradients, either.
        """
        import torch

        hidden = {name for name in sys.modules if name.partition(".")[0] == NAME} | sys.modules.keys() & self._modules
        others = {name: sys.modules[name] for name in hidden}
        for name in others:
            del sys.modules[name]
        names = set(sys.modules)
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self.root))
        states = random.getstate(), np.random.get_state()  # noqa: NPY002
        cuda: Any = torch.cuda
        gpus = [cuda.current_device()] if cuda.is_initialized() else []
        try:
            with torch.random.fork_rng(gpus), torch.no_grad(), redirect_stdout(io.StringIO()):
                random.seed(0)
                np.random.seed(0)  # noqa: NPY002
                torch.manual_seed(0)
                yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            sys.path.remove(str(self.root))
            # what was imported meanwhile leaves `sys.modules`, for the next time, before what was hidden comes back
            self._modules.update({name: sys.modules.pop(name) for name in set(sys.modules) - names if self._ours(name)})
            sys.modules.update(others)

    def _ours(self, name: str) -> bool:
        """Whether a module is the repository's own, and not one of an environment that lies in its folder."""
        file = vars(sys.modules[name]).get("__file__") or ""
        inside = file.startswith(f"{self.root}/") and "site-packages" not in Path(file).parts
        return name.partition(".")[0] == NAME or inside


OPTIONS = ("mode", "zoom", "zoom_first", "flip", "infer_size", "clicks_limit", "cf_n", "acf")
"""The parameters of `intrabench.models.isegm.Isegm` that repositories with `get_predictor` know."""


class Network:
    """A network with weights on a device, and how its repository asks it. options: the model, which has `OPTIONS`."""

    def __init__(self, package: Package, checkpoint: Path, options: Any, device: str) -> None:
        """Unpickle a checkpoint and import the code that it names: both run whatever is in them.

        Raises:
            IntraBenchError: a module is missing here, or checkpoint, repository and options do not fit together.
        """
        self._package, self._options = package, options
        self._root = package.root
        with self._importing(checkpoint):
            import torch

            self._device = torch.device(device)
            with package.at_work():
                self._utils = importlib.import_module(f"{NAME}.inference.utils")
                self._clicker = importlib.import_module(f"{NAME}.inference.clicker")
                self._predictors = self._module("inference.predictors") or self._module("inference.predictor")
                self._net, self._stages = self._loaded(_content(checkpoint), checkpoint)
                self._make = self._maker()
                self._made()

    def see(self, image: NDArray[np.uint8]) -> Any:
        """A predictor that has seen an image ``(y, x, 3)``, and no click."""
        with self._package.at_work():
            predictor = self._made()
            see = predictor.set_input_image if hasattr(predictor, "set_input_image") else predictor.set_image
            see(image)
        return predictor

    def answer(self, state: Any, clicks: NDArray[Any]) -> tuple[NDArray[np.float32], Any]:
        """The probabilities ``(y, x)`` for all clicks so far, and the state of the predictor then.

        state: a predictor, which stays as it is. clicks: rows ``y, x, label``, oldest first.
        """
        predictor = self._copied(state)
        with self._package.at_work():
            clicker = self._clicker.Clicker()
            for y, x, label in clicks.tolist():
                clicker.add_click(self._clicker.Click(is_positive=label == 1, coords=(y, x)))
            ask = predictor.get_prediction if hasattr(predictor, "get_prediction") else predictor.predict
            found = np.asarray(ask(clicker), dtype=np.float32)
        if np.isnan(found).any():
            raise FloatingPointError(f"{self._root.name} answered with NaN")
        return found, predictor

    def _copied(self, predictor: Any) -> Any:
        """A copy with the same networks and the same image."""
        shared = [self._net, *self._stages, *(getattr(predictor, name, None) for name in SHARED)]
        # deepcopy takes what is in its memo for copied already, so this is shared
        return copy.deepcopy(predictor, {id(one): one for one in shared if one is not None})

    def _loaded(self, content: Any, checkpoint: Path) -> tuple[Any, list[Any]]:
        """The network, and those of all stages if there are several."""
        if not all(isinstance(one, dict) and set(PARTS) <= set(one) for one in _stages(content)):
            raise IntraBenchError(
                f"isegm: {checkpoint} holds no {' and '.join(PARTS)}, which these repositories save; give a file that "
                "they published for interactive segmentation, not one of a backbone"
            )
        extra = {"eval_ritm": False} if self._takes("eval_ritm") else {}
        made = self._utils.load_is_model(content, self._device, **extra)
        net, stages = (made[0], list(made[1])) if isinstance(made, tuple) else (made, [])
        for one, stored in zip(stages or [net], _stages(content), strict=True):
            if missing := sorted({name for name, _ in one.named_parameters()} - set(stored["state_dict"])):
                raise ValueError(f"{len(missing)} weights are missing, such as {missing[0]}")  # some do not check
            self._fit_positions(one)
        return net, stages

    def _fit_positions(self, net: Any) -> None:
        """Vision transformers get position embeddings for the size of the crops, as the repositories' scripts do."""
        module, backbone = self._module("model.modeling.pos_embed"), getattr(net, "backbone", None)
        if hasattr(module, "interpolate_pos_embed_inference") and hasattr(backbone, "pos_embed"):
            size = self._zoom.get("target_size") if self._zoom else None
            if not isinstance(size, tuple):
                raise IntraBenchError("isegm: this network takes crops of one size; give zoom=448x448 or another YxX")
            module.interpolate_pos_embed_inference(backbone, size, self._device)

    @property
    def _zoom(self) -> dict[str, Any] | None:
        """The parameters of zooming in; by default those of the repository's own script."""
        if self._options.zoom == "none":
            return None
        sides = tuple(map(int, self._options.zoom.split("x"))) if self._options.zoom else ()
        size = sides or ((448, 448) if self._takes("eval_ritm") else (400,))
        always = {"skip_clicks": -1} if self._options.zoom_first or len(size) == 2 else {}
        return {"target_size": size if len(size) == 2 else size[0]} | always

    def _takes(self, parameter: str) -> bool:
        """Whether networks are loaded with a parameter that only SimpleClick and its kin have."""
        return parameter in inspect.signature(self._utils.load_is_model).parameters

    def _made(self) -> Any:
        predictor = self._make()
        if self._options.cf_n and not hasattr(predictor, "cascade_step"):
            raise self._unknown("cf_n")
        return predictor

    def _maker(self) -> Callable[[], Any]:
        """What makes a predictor; options that the repository does not know are refused."""
        options, model = self._options, (self._net, self._stages) if self._stages else self._net
        make: Any = getattr(self._predictors, "get_predictor", None)
        if make is None:
            if any(getattr(options, name) != getattr(type(options), name) for name in OPTIONS):
                raise self._unknown("mode, zoom, flip, infer_size, clicks_limit and cf_n")
            return lambda: self._predictors.BasePredictor(model)
        keywords: dict[str, Any] = {} if options.flip == "default" else {"with_flip": options.flip == "on"}
        keywords |= {"infer_size": options.infer_size} if options.infer_size else {}
        if unknown := [name for name in keywords if name not in inspect.signature(make).parameters]:
            raise self._unknown(unknown[0])
        params: dict[str, Any] = {"net_clicks_limit": options.clicks_limit} if options.clicks_limit else {}
        if options.cf_n:
            params |= {"cascade_step": options.cf_n + 1, "cascade_adaptive": options.acf, "cascade_clicks": 1}
        return lambda: make(
            model, options.mode, self._device, zoom_in_params=self._zoom, predictor_params=params, **keywords
        )

    def _unknown(self, option: str) -> IntraBenchError:
        return IntraBenchError(f"isegm: {self._root} does not know {option}; omit it, or give another repo")

    def _module(self, name: str) -> Any:
        """A module of the package, or None."""
        full = f"{NAME}.{name}"
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name and full.startswith(error.name):
                return None
            raise

    @contextmanager
    def _importing(self, checkpoint: Path) -> Iterator[None]:
        """What goes wrong while code of the repository is imported and run, in one sentence."""
        try:
            with foreign():
                yield
        except IntraBenchError:
            raise
        except ImportError as error:
            if (error.name or "").partition(".")[0] == NAME:
                raise self._unfit(checkpoint, error) from error
            raise IntraBenchError(
                f"isegm: {self._root} needs {error.name or error}, which is not installed for {sys.executable}; "
                "install it there, or give --python an interpreter that has what the repository requires"
            ) from error
        except NotImplementedError as error:
            raise self._unknown(f"mode={self._options.mode}") from error
        except Exception as error:  # code of others may raise anything
            raise self._unfit(checkpoint, error) from error

    def _unfit(self, checkpoint: Path, error: Exception) -> IntraBenchError:
        return IntraBenchError(
            f"isegm: {checkpoint} does not fit {self._root} ({in_words(error)[:300]}); give the repository and the "
            "options that its authors used for this file, in an environment with what they require"
        )


def _content(checkpoint: Path) -> Any:
    """What a checkpoint holds.

    Raises:
        IntraBenchError: it cannot be read.
    """
    import torch

    try:
        return torch.load(checkpoint, map_location="cpu", weights_only=False)
    except Exception as error:  # damaged pickles raise anything
        raise IntraBenchError(
            f"isegm: {checkpoint} cannot be read as a checkpoint ({in_words(error)[:200]}); download it again"
        ) from error


def _stages(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]
