"""What keeps a click network of somebody's repository from running: each in one sentence, and nothing runs before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.isegm import Isegm
from intrabench.registry import registry
from tests.models.isegm_families import FAMILIES, checkpoint, ritm
from tests.models.test_isegm import photo


class Evil:
    """Leaves a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


def test_nothing_is_unpickled_or_imported_without_trust(tmp_path: Path, wording: SnapshotAssertion) -> None:
    import torch

    repo, left, imported = ritm(tmp_path / "repo"), tmp_path / "unpickled", tmp_path / "imported"
    utils = repo / "isegm/inference/utils.py"
    utils.write_text(f"{utils.read_text()}\nimport pathlib\npathlib.Path({str(imported)!r}).touch()\n")
    file = tmp_path / "evil.pth"
    torch.save({"config": Evil(left), "state_dict": {}}, file)
    model = Isegm(repo=str(repo), checkpoint=str(file))
    for refuses in (model.check_runnable, model.load, lambda: model.open(photo())):
        with pytest.raises(IntraBenchError) as caught:
            refuses()
        assert caught == wording
    trusted = replace(model, trust=True)
    trusted.check_runnable()
    assert trusted.version.startswith("1/")
    assert not left.exists()
    assert not imported.exists()
    with pytest.raises(IntraBenchError, match="does not fit"):
        trusted.load()
    assert left.exists()  # it was a pickle of that kind


def broken(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.mark.parametrize(
    "spec",
    [
        "isegm",
        "isegm:repo=nowhere",
        "isegm:repo=empty",
        "isegm:repo=repo",
        "isegm:repo=repo,checkpoint=no.pth",
        "isegm:repo=repo,checkpoint=good.pth",
        "isegm:repo=repo,checkpoint=text.pth,trust=true",
        "isegm:repo=repo,checkpoint=backbone.pth,trust=true",
        "isegm:repo=repo,checkpoint=other.pth,trust=true",
        "isegm:repo=repo,checkpoint=module.pth,trust=true",
        "isegm:repo=repo,checkpoint=few.pth,trust=true",
        "isegm:repo=repo,checkpoint=good.pth,trust=true,mode=CDNet",
        "isegm:repo=repo,checkpoint=good.pth,trust=true,infer_size=256",
        "isegm:repo=repo,checkpoint=good.pth,trust=true,cf_n=4",
        "isegm:repo=segnext,checkpoint=good.pth,trust=true,zoom=400",
        "isegm:repo=simple,checkpoint=good.pth,trust=true,zoom=400",
        "isegm:repo=needy,checkpoint=good.pth,trust=true",
        "isegm:repo=rude,checkpoint=good.pth,trust=true",
    ],
)
def test_one_sentence_says_what_is_missing(spec: str, wording: SnapshotAssertion) -> None:
    import torch

    ritm(Path("repo"))
    FAMILIES["segnext"](Path("segnext"))
    FAMILIES["simpleclick"](Path("simple"))
    broken(ritm(Path("needy")) / "isegm/inference/utils.py", "import easydict\n")
    broken(ritm(Path("rude")) / "isegm/inference/utils.py", "raise SystemExit(3)\n")
    Path("empty").mkdir()
    content = torch.load(checkpoint(Path("good.pth")), weights_only=False)
    torch.save(content["state_dict"], "backbone.pth")
    torch.save(content | {"config": {"class": "isegm.model.tiny.HRNet", "params": {}}}, "other.pth")
    torch.save(content | {"config": {"class": "isegm.model.is_hrnet.HRNet", "params": {}}}, "module.pth")
    torch.save(
        content | {"state_dict": {k: v for k, v in content["state_dict"].items() if k != "inner.bias"}}, "few.pth"
    )
    Path("text.pth").write_text("not found")
    model = registry.make("models", spec)
    with pytest.raises(IntraBenchError) as caught:
        model.load()  # which checks first
    assert caught == wording
    assert "\n" not in str(caught.value)


def test_an_environment_without_torch(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    model = Isegm(str(ritm(Path("repo"))), str(checkpoint(Path("good.pth"))), trust=True)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(IntraBenchError) as caught:
        model.load()
    assert caught == wording


@pytest.mark.parametrize(
    "options",
    [
        "zoom=big",
        "zoom=0",
        "acf=true",
        "thresh=1",
        "flip=yes",
        "mode=foo",
    ],
)
def test_options_that_make_no_sense_are_refused(options: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        registry.make("models", f"isegm:{options}")
    assert caught == wording


def test_weights_random_is_refused(wording: SnapshotAssertion) -> None:
    model = Isegm(str(ritm(Path("repo"))), str(checkpoint(Path("good.pth"))), trust=True)
    model.runtime = Runtime(random=True)
    with pytest.raises(IntraBenchError) as caught:
        model.check_runnable()
    assert caught == wording
