"""Click networks through the code of their repositories: a stand-in, and a direct loop over it."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.check import check
from intrabench.engine.session_spec import ModelRunner
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Predictor, Request, Runtime, open_image
from intrabench.models.isegm import SLICES, Isegm
from intrabench.models.weights import registry as registry_of_weights
from intrabench.prompts import Prompts, boxes, points
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.models.isegm_families import FAMILIES, checkpoint

CLICKS = 20
SIZE = (60, 80)


def photo(seed: int = 0, depth: int = 1) -> Volume:
    """A disc of another colour, which is the target, in noise."""
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 90, (depth, *SIZE, 3), dtype=np.uint8)
    array[:, truth()] += np.array([120, 60, 20], np.uint8)
    return Volume.from_canonical(array)


def truth() -> np.ndarray:
    y, x = np.ogrid[: SIZE[0], : SIZE[1]]
    return ((y - 30) ** 2 + (x - 36) ** 2 < 20**2) | ((y > 40) & (x > 50) & (x < 74))


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Isegm]:
    """Makes a model of a family, ``made("ritm", zoom="48")``."""

    def make(family: str = "ritm", seed: int = 0, stages: int = 1, noise: float = 0.0, **options: Any) -> Isegm:
        repo = tmp_path / family
        if not repo.exists():
            FAMILIES[family](repo)
        file = checkpoint(tmp_path / f"{family}{seed}{stages}{noise}.pth", seed, stages, noise=noise)
        return Isegm(repo=str(repo), checkpoint=str(file), trust=True, **options)

    return make


@pytest.fixture
def package() -> Iterator[Callable[[Path], None]]:
    """Puts the package of a repository into this process, as its own scripts have it."""
    before = list(sys.path)
    yield lambda root: sys.path.insert(0, str(root))
    sys.path[:] = before
    for name in [name for name in sys.modules if name.partition(".")[0] == "isegm"]:
        del sys.modules[name]


Trajectory = list[tuple[tuple[int, int, bool], np.ndarray]]


def directly(model: Isegm, clicks: int = CLICKS, **given: Any) -> Trajectory:
    """What a script of the repository does: its own clicker, one predictor, and its defaults unless they are given."""
    import torch

    utils = importlib.import_module("isegm.inference.utils")
    clickers = importlib.import_module("isegm.inference.clicker")
    extra = {"eval_ritm": False} if "eval_ritm" in inspect.signature(utils.load_is_model).parameters else {}
    content = torch.load(model.checkpoint, weights_only=False)
    net = utils.load_is_model(content, torch.device("cpu"), **extra)
    if Path(model.repo, "segnext").exists():
        predictor = importlib.import_module("isegm.inference.predictor").BasePredictor(net)
        predictor.set_image(np.array(photo().array[0]))
        ask = predictor.predict
    else:
        get = importlib.import_module("isegm.inference.predictors").get_predictor
        predictor = get(net, given.pop("brs_mode", "NoBRS"), torch.device("cpu"), prob_thresh=0.49, **given)
        predictor.set_input_image(np.array(photo().array[0]))
        ask = predictor.get_prediction
    clicker, mask, found = clickers.Clicker(truth()), np.zeros(SIZE, bool), []
    with torch.no_grad():
        for _ in range(clicks):
            clicker.make_next_click(mask)
            mask = ask(clicker) > 0.49
            last = clicker.get_clicks()[-1]
            found.append(((*last.coords, last.is_positive), mask))
    return found


def ours(model: Isegm, expected: Trajectory, forgets_at: int = -1) -> list[np.ndarray]:
    """A session with the same clicks; `forgets_at`: the round before which its memory is lost, as after a restart."""
    masks, turns, mask, memory = [], [], Mask.empty(), None
    with open_image(model, photo()) as image:
        for number, ((y, x, positive), _) in enumerate(expected):
            turns.append(Turn(points([(0, y, x)], int(positive)), (Click(),)))
            memory = None if number == forgets_at else memory
            answer = one(image, Request("s", tuple(turns), mask, memory))
            mask, memory = answer.update, answer.memory
            masks.append(mask.to_array((1, *SIZE))[0])
    return masks


def one(image: Predictor, request: Request) -> Answer:
    (answer,) = image.segment([request])
    assert isinstance(answer, Answer), answer
    return answer


def refused(image: Predictor, request: Request) -> str:
    (answer,) = image.segment([request])
    assert isinstance(answer, Failure), answer
    return answer.message


SESSIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ritm": ("ritm", {}, {"zoom_in_params": {"target_size": 400}}),
    "zoom": ("ritm", {"zoom": "48"}, {"zoom_in_params": {"target_size": 48}}),
    "tetris": ("ritm", {"zoom": "48", "zoom_first": True}, {"zoom_in_params": {"target_size": 48, "skip_clicks": -1}}),
    "plain": ("ritm", {"zoom": "none", "flip": "off"}, {"with_flip": False}),
    "few": ("ritm", {"zoom": "none", "clicks_limit": 3}, {"predictor_params": {"net_clicks_limit": 3}}),
    "simpleclick": ("simpleclick", {}, {"zoom_in_params": {"target_size": (448, 448), "skip_clicks": -1}}),
    "davis": ("simpleclick", {"zoom": "96x64"}, {"zoom_in_params": {"target_size": (96, 64), "skip_clicks": -1}}),
    "focalclick": (
        "clickseg",
        {"mode": "FocalClick", "infer_size": 128, "zoom": "48"},
        {"brs_mode": "FocalClick", "infer_size": 128, "zoom_in_params": {"target_size": 48}},
    ),
    "cfr": (
        "cfr",
        {"cf_n": 4, "zoom": "64x64"},
        {
            "zoom_in_params": {"target_size": (64, 64), "skip_clicks": -1},
            "predictor_params": {"cascade_step": 5, "cascade_adaptive": False, "cascade_clicks": 1},
        },
    ),
    "segnext": ("segnext", {"thresh": 0.49}, {}),
}


OTHERS = {"zoom", "plain", "few", "davis"}
"""Whose options are those of the rest, or looked at by `test_options_change_answers`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in OTHERS else name for name in SESSIONS]
)
def test_sessions_of_twenty_clicks_equal_the_repositorys_own_loop(
    name: str, made: Callable[..., Isegm], package: Callable[[Path], None]
) -> None:
    family, options, given = SESSIONS[name]
    model = made(family, **options)
    package(Path(model.repo, "segnext") if family == "segnext" else Path(model.repo))
    clicks = CLICKS if options else 6  # crops of 400 pixels take long
    expected = directly(model, clicks, **given)
    assert len({mask.tobytes() for _, mask in expected}) >= 5  # the masks do change
    assert name == "few" or clicks < CLICKS or {positive for (_, _, positive), _ in expected} == {True, False}
    for forgets_at in (-1, clicks // 2):
        found = ours(model, expected, forgets_at)
        for number, (mask, (_, theirs)) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(mask, theirs, f"click {number + 1}, forgets at {forgets_at}")


def test_stages_of_a_checkpoint_follow_the_clicks(made: Callable[..., Isegm], package: Callable[[Path], None]) -> None:
    model = made(stages=3, zoom="none")
    package(Path(model.repo))
    expected = directly(model, 5)
    for mask, (_, theirs) in zip(ours(model, expected), expected, strict=True):
        np.testing.assert_array_equal(mask, theirs)


def test_options_change_answers(made: Callable[..., Isegm]) -> None:
    clicks: Trajectory = [((30, 36, True), np.zeros(0)), ((20, 30, True), np.zeros(0)), ((50, 70, False), np.zeros(0))]
    options: list[dict[str, Any]] = [
        {},
        {"zoom": "none"},
        {"zoom": "48"},
        {"zoom": "48", "zoom_first": True},
        {"flip": "off"},
        {"clicks_limit": 1},
        {"thresh": 0.8},
    ]
    masks = [ours(made(**option), clicks) for option in options]
    assert len({np.array(found).tobytes() for found in masks}) == len(options)


def test_sessions_of_one_image_know_nothing_of_each_other(made: Callable[..., Isegm]) -> None:
    first = Turn(points([(0, 30, 36)]), (Click(),))
    seconds = [Turn(points([(0, y, x)], label), (Click(),)) for y, x, label in ((20, 30, 1), (50, 60, 0), (10, 70, 0))]
    model = made(zoom="48", noise=0.5)
    with open_image(model, photo()) as image:
        begun = one(image, Request("a", (first,)))
        asked = [Request(f"s{n}", (first, turn), begun.update, begun.memory) for n, turn in enumerate(seconds)]
        together = [one(image, request) for request in (*asked, *asked[::-1])]
        alone = []
        for request in asked:
            with open_image(model, photo()) as other:
                alone.append(one(other, replace(request, memory=None)))
    for answer, other_one, expected in zip(together[:3], together[:2:-1], alone, strict=True):
        np.testing.assert_array_equal(answer.update.array, expected.update.array)
        np.testing.assert_array_equal(other_one.update.array, expected.update.array)


def test_images_are_seen_once_whatever_the_number_of_sessions(made: Callable[..., Isegm]) -> None:
    model = made("segnext")
    with open_image(model, photo(depth=2)) as image:
        for session in range(5):
            for z in range(2):
                one(image, Request(f"{session}{z}", (Turn(points([(z, 30, 30 + session)]), (Click(),)),)))
        assert vars(model.network._net)["encoded"] == 2


def test_slices_have_their_own_clicks_and_masks(made: Callable[..., Isegm]) -> None:
    volume = photo(depth=SLICES + 3)
    model = made(zoom="none")
    turns = [Turn(points([(z, 30, 36), (z, 31, 20 + z)]), (Click(), Click())) for z in range(SLICES + 3)]
    last = Turn(points([(1, 50, 60)], 0), (Click(),))
    with open_image(model, volume) as image:
        answer = one(image, Request("s", (*turns, last)))
        assert answer.valid.slices == (1,)
        alone = one(image, Request("t", (turns[1], last)))
        np.testing.assert_array_equal(answer.update.array, alone.update.array)
        both = one(image, Request("u", (Turn(points([(1, 30, 36), (3, 30, 36)]), (Click(), Click())),)))
    assert both.valid.slices == (1, 3)
    assert both.update.slice(3).any()


def test_grey_scans_become_three_equal_channels_of_eight_bits(made: Callable[..., Isegm]) -> None:
    model, seen = made(), []
    grey = np.random.default_rng(1).normal(size=(2, *SIZE)).astype(np.float32)
    see = model.network.see
    vars(model.network)["see"] = lambda image: seen.append(image) or see(image)
    with open_image(model, Volume.from_canonical(grey)) as image:
        one(image, Request("s", (Turn(points([(1, 30, 36)]), (Click(),)),)))
    assert seen[0].shape == (*SIZE, 3)
    assert seen[0].dtype == np.uint8
    assert (seen[0] == seen[0][..., :1]).all()
    assert seen[0].max() == 255
    with open_image(model, photo()) as image:
        one(image, Request("s", (Turn(points([(0, 30, 36)]), (Click(),)),)))
    np.testing.assert_array_equal(seen[1], photo().array[0])


def test_scores_are_the_probabilities_where_the_mask_is(made: Callable[..., Isegm]) -> None:
    with open_image(made(), photo()) as image:
        answer = one(image, Request("s", (Turn(points([(0, 30, 36)]), (Click(),)),), scores=True))
    assert answer.scores is not None
    np.testing.assert_array_equal(answer.scores > 0.49, answer.update.array)


def test_corrections_without_earlier_clicks_build_on_the_last_prediction(made: Callable[..., Isegm]) -> None:
    first, second = points([(0, 30, 36)]), points([(0, 50, 60)])
    turns = Turn(first, (Click(),)), Turn(second, (Click(),), afresh=True)
    model = made(zoom="none")
    with open_image(model, photo()) as image:
        begun = one(image, Request("s", turns[:1]))
        after = one(image, Request("s", turns, begun.update, begun.memory)).update
        alone = one(image, Request("t", turns[1:])).update
        both = one(image, Request("u", (turns[0], replace(turns[1], afresh=False)))).update
    shape = (1, *SIZE)
    assert (after.to_array(shape) != alone.to_array(shape)).any()
    assert (after.to_array(shape) != both.to_array(shape)).any()


def test_prompts_that_cannot_be_answered(made: Callable[..., Isegm], wording: SnapshotAssertion) -> None:
    with open_image(made(), photo()) as image:
        assert "there is no click" in refused(image, Request("s", (Turn(Prompts(), (Click(),)),)))
        assert refused(image, Request("s", (Turn(points([(0, 60, 0)])),))) == wording
        assert refused(image, Request("s", (Turn(boxes({0: (1, 1, 9, 9)})),))) == wording


def test_the_network_is_loaded_once_and_asked_once_per_click(made: Callable[..., Isegm]) -> None:
    model, asked, seen = made(), [], []
    cls = type(model.network._make())
    ask, see = cls.get_prediction, cls.set_input_image
    cls.get_prediction = lambda self, clicker: asked.append(len(clicker.get_clicks())) or ask(self, clicker)
    cls.set_input_image = lambda self, image: seen.append(1) or see(self, image)
    clicks: Trajectory = [((30, 30 + n, n % 3 > 0), np.zeros(0)) for n in range(CLICKS)]
    network = model.network
    ours(model, clicks)
    assert asked == list(range(1, CLICKS + 1))
    assert len(seen) == 1
    assert model.network is network


def test_two_repositories_in_one_process(made: Callable[..., Isegm]) -> None:
    clicks: Trajectory = [((30, 36, True), np.zeros(0)), ((50, 70, False), np.zeros(0))]
    one_model, other = made("ritm"), made("cfr", cf_n=2)
    alone = ours(one_model, clicks)
    ours(other, clicks)
    for mask, expected in zip(ours(one_model, clicks), alone, strict=True):
        np.testing.assert_array_equal(mask, expected)
    assert not [name for name in sys.modules if name.partition(".")[0] == "isegm"]
    assert not [path for path in sys.path if path.startswith(one_model.repo)]


def test_modules_beside_the_package_are_its_own_but_not_those_of_an_environment_in_the_folder(
    made: Callable[..., Isegm], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made("ritm")
    site = Path(model.repo, "env/lib/site-packages")
    site.mkdir(parents=True)
    (site / "needed_by_clicks.py").write_text("")
    Path(model.repo, "beside_clicks.py").write_text("calls = []\n")
    utils = Path(model.repo, "isegm/inference/utils.py")
    utils.write_text(
        utils.read_text().replace("import importlib\n", "import beside_clicks, needed_by_clicks, importlib\n")
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.setitem(sys.modules, "needed_by_clicks", None)
    del sys.modules["needed_by_clicks"]
    ours(model, [((30, 36, True), np.zeros(0))])
    assert "needed_by_clicks" in sys.modules
    assert "beside_clicks" not in sys.modules
    other = type(sys)("beside_clicks")  # somebody else's module of that name
    monkeypatch.setitem(sys.modules, "beside_clicks", other)
    ours(model, [((30, 36, True), np.zeros(0))])
    assert sys.modules["beside_clicks"] is other


def test_loading_and_asking_leave_random_numbers_and_output_alone(
    made: Callable[..., Isegm], capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    ours(made(noise=1.0), [((30, 36, True), np.zeros(0))])
    assert torch.equal(torch.rand(3), expected)
    assert capsys.readouterr().out == ""


def test_it_keeps_the_contract_of_models(made: Callable[..., Isegm]) -> None:
    model = made(zoom="48")
    model.runtime = Runtime()
    findings = list(check(ModelRunner(model)))
    assert not [f for f in findings if f.ok is False]
    assert {"prompt point", "feedback", "batch", "memory"} <= {f.name for f in findings}


def test_rows_know_code_and_weights(made: Callable[..., Isegm]) -> None:
    first, other = made(), made(seed=1)
    assert registry_of_weights.identity(first) == hashlib.sha256(Path(first.checkpoint).read_bytes()).hexdigest()
    assert registry_of_weights.identity(first) != registry_of_weights.identity(other)
    assert registry_of_weights.seen(first, ("coco_mval",), natural=True) == "unknown"
    assert version_of(first) == version_of(other)
    predictors = Path(first.repo, "isegm/inference/predictors/__init__.py")
    predictors.write_text(predictors.read_text() + "\n# changed\n")
    assert version_of(made()) != version_of(first)
    assert version_of(Isegm()) == "1"
