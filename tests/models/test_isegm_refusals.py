"""What keeps a click network of somebody's repository from running: each in one sentence, and nothing runs before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

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


def test_nothing_is_unpickled_or_imported_without_trust(tmp_path: Path) -> None:
    import torch

    repo, left, imported = ritm(tmp_path / "repo"), tmp_path / "unpickled", tmp_path / "imported"
    utils = repo / "isegm/inference/utils.py"
    utils.write_text(f"{utils.read_text()}\nimport pathlib\npathlib.Path({str(imported)!r}).touch()\n")
    file = tmp_path / "evil.pth"
    torch.save({"config": Evil(left), "state_dict": {}}, file)
    model = Isegm(repo=str(repo), checkpoint=str(file))
    for refuses in (model.check_runnable, model.load, lambda: model.open(photo())):
        with pytest.raises(IntraBenchError, match=r"evil.pth is a pickle, .* if you trust both, add trust=true"):
            refuses()
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
    ("spec", "said"),
    [
        ("isegm", "isegm: repo=PATH is missing; give the clone of a repository such as RITM"),
        ("isegm:repo=nowhere", "isegm: repo=nowhere is no folder; give the clone"),
        ("isegm:repo=empty", r"isegm: empty has no package isegm \(isegm/inference/utils.py is missing\); give"),
        ("isegm:repo=repo", "isegm: checkpoint=PATH is missing; give one that"),
        ("isegm:repo=repo,checkpoint=no.pth", "isegm: checkpoint=no.pth is no file; give one that"),
        ("isegm:repo=repo,checkpoint=good.pth", "add trust=true"),
        (
            "isegm:repo=repo,checkpoint=text.pth,trust=true",
            "text.pth cannot be read as a checkpoint .*download it again",
        ),
        ("isegm:repo=repo,checkpoint=backbone.pth,trust=true", "backbone.pth holds no config and state_dict, which"),
        ("isegm:repo=repo,checkpoint=other.pth,trust=true", r"other.pth does not fit .*no attribute 'HRNet'\); give"),
        ("isegm:repo=repo,checkpoint=module.pth,trust=true", "module.pth does not fit .*isegm.model.is_hrnet"),
        (
            "isegm:repo=repo,checkpoint=few.pth,trust=true",
            "few.pth does not fit .*1 weights are missing, such as inner",
        ),
        ("isegm:repo=repo,checkpoint=good.pth,trust=true,mode=CDNet", "does not know mode=CDNet; omit it, or"),
        ("isegm:repo=repo,checkpoint=good.pth,trust=true,infer_size=256", "does not know infer_size; omit it"),
        ("isegm:repo=repo,checkpoint=good.pth,trust=true,cf_n=4", "does not know cf_n; omit it"),
        ("isegm:repo=segnext,checkpoint=good.pth,trust=true,zoom=400", "does not know mode, zoom, flip, infer_size"),
        ("isegm:repo=simple,checkpoint=good.pth,trust=true,zoom=400", "takes crops of one size; give zoom=448x448"),
        (
            "isegm:repo=needy,checkpoint=good.pth,trust=true",
            "needs easydict, which is not installed for .* give --python",
        ),
        ("isegm:repo=rude,checkpoint=good.pth,trust=true", "does not fit .*would have ended the program"),
    ],
)
def test_one_sentence_says_what_is_missing(spec: str, said: str) -> None:
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
    with pytest.raises(IntraBenchError, match=said) as caught:
        model.load()  # which checks first
    assert "\n" not in str(caught.value)


def test_an_environment_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Isegm(str(ritm(Path("repo"))), str(checkpoint(Path("good.pth"))), trust=True)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(IntraBenchError, match=f"needs torch, which is not installed for {sys.executable}; install it"):
        model.load()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("zoom=big", "zoom=big is no size; give 400"),
        ("zoom=0", "zoom=0 is no size"),
        ("acf=true", "give cf_n=4 or so"),
        ("thresh=1", "thresh takes a number above 0 and below 1"),
        ("flip=yes", "flip"),
        ("mode=foo", "mode"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: str, said: str) -> None:
    with pytest.raises(IntraBenchError, match=said):
        registry.make("models", f"isegm:{options}")


def test_weights_random_is_refused() -> None:
    model = Isegm(str(ritm(Path("repo"))), str(checkpoint(Path("good.pth"))), trust=True)
    model.runtime = Runtime(random=True)
    with pytest.raises(IntraBenchError, match="isegm has no random weights"):
        model.check_runnable()
