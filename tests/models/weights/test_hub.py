"""Repositories at the hub, of which a local server is a stand-in: pinned, verified, and refused in one sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from intrabench.cli.main import app
from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.hf import HF
from intrabench.models.weights import hub
from intrabench.models.weights import registry as weights
from intrabench.models.weights.fetch import fetch
from tests.models.hub_folder import saved
from tests.server import Server, serving

FIRST, SECOND = "a" * 40, "b" * 40
NAME = "someone/tiny"
FACTS = "license: other\nlicense_name: our licence\ndatasets: [sa-1b, spines]\nbase_model: someone/large"
CARD = f"---\n{FACTS}\n---\n# Tiny\n"


class Hub:
    """One repository with a state for each commit, `main` is one of them."""

    def __init__(self, server: Server) -> None:
        self.server, self.main, self.gated, self.status = server, FIRST, False, 200
        self.commits: dict[str, dict[str, bytes]] = {}
        self.lies = False
        handler = server.http.RequestHandlerClass
        handler.do_GET = handler.do_HEAD = lambda one: self.answer(one)  # type: ignore[attr-defined]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0].strip("/")
        self.server.paths.append(path)
        commit = path.partition("/revision/")[2] or path.partition("/resolve/")[2].partition("/")[0] or "main"
        commit = self.main if commit == "main" else commit
        if self.status != 200:
            return self.send(handler, self.status)
        if NAME not in path:
            return self.send(handler, 404, error="RepoNotFound")
        if commit not in self.commits:
            return self.send(handler, 404, error="RevisionNotFound")
        files = self.commits[commit]
        if path.startswith(f"api/models/{NAME}/tree"):
            tree = [self.about(name, content) for name, content in files.items()]
            return self.send(handler, 200, json.dumps(tree).encode())
        if path.startswith("api/models/"):
            siblings = [{"rfilename": name, **self.about(name, content)} for name, content in files.items()]
            return self.send(handler, 200, json.dumps({"id": NAME, "sha": commit, "siblings": siblings}).encode())
        name = path.rpartition("/")[2]
        if name not in files:
            return self.send(handler, 404, error="EntryNotFound")
        if self.gated and name.endswith(".safetensors"):
            return self.send(handler, 403, error="GatedRepo")
        return self.send(handler, 200, files[name], commit)

    def about(self, name: str, content: bytes) -> dict[str, Any]:
        sha256 = hashlib.sha256(content + b"!" * self.lies).hexdigest()
        large = {"lfs": {"sha256": sha256, "oid": sha256, "size": len(content), "pointerSize": 1}}
        facts = {"path": name, "type": "file", "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
        return facts | (large if name.endswith(".safetensors") else {})

    def send(self, handler: Any, status: int, body: bytes = b"", commit: str = "", error: str = "") -> None:
        handler.send_response(status)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Error-Code": error}
        for key, value in (headers | {"Content-Length": str(len(body))}).items():
            if value:
                handler.send_header(key, value)
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body)

    def loads(self) -> int:
        """How often weights were downloaded."""
        return sum(path.endswith(".safetensors") for path in self.server.paths)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A network with weights, and a file of code that nobody asked for."""
    pytest.importorskip("transformers")
    folder = saved(tmp_path_factory.mktemp("files"), "sam2_video")
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    return found | {"README.md": CARD.encode(), "modeling.py": b"raise SystemExit", "pytorch_model.bin": b"\x80"}


@pytest.fixture
def at_hub(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub has one commit."""
    from huggingface_hub import constants

    with serving() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.root)
        url = f"{server.root}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        hub = Hub(server)
        hub.commits[FIRST] = dict(files)
        yield hub


def test_weights_are_fetched_once_and_stay_at_their_commit(at_hub: Hub, wording: SnapshotAssertion) -> None:
    model = HF(repo=NAME)
    model.check_runnable()
    assert model.version == f"1/{FIRST[:12]}"
    with pytest.raises(IntraBenchError) as caught:
        weights.locate(model.weights or "")
    assert caught == wording
    assert at_hub.loads() == 0
    arrived: list[int] = []
    folder = fetch(model.weights or "", lambda done, total: arrived.append(done))
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors", "README.md"}
    assert arrived[-1] >= len(at_hub.commits[FIRST]["model.safetensors"])
    loads, asked = at_hub.loads(), len(at_hub.server.paths)
    at_hub.commits[SECOND], at_hub.main = at_hub.commits[FIRST] | {"config.json": b"{}"}, SECOND
    assert fetch(model.weights or "") == folder
    assert HF(repo=NAME).version == f"1/{FIRST[:12]}"
    HF(repo=NAME).load()
    assert (at_hub.loads(), len(at_hub.server.paths)) == (loads, asked)


def test_revisions_are_told_apart(at_hub: Hub) -> None:
    tensors = at_hub.commits[FIRST]["model.safetensors"]
    at_hub.commits[SECOND] = at_hub.commits[FIRST] | {"model.safetensors": tensors[:-4] + b"\0\0\0\0"}
    models = [HF(repo=NAME), HF(repo=NAME, revision=SECOND)]
    for model in models:
        fetch(model.weights or "")
    assert [model.version for model in models] == [f"1/{FIRST[:12]}", f"1/{SECOND[:12]}"]
    first, second = map(weights.identity, models)
    assert first == hashlib.sha256(tensors).hexdigest() != second
    assert [model.short_spec for model in models] == [f"hf:repo={NAME}", f"hf:repo={NAME},revision={SECOND}"]
    assert [weights.kind(model, first) for model in models] == [weights.REGISTERED] * 2


def test_facts_come_from_the_card(at_hub: Hub, wording: SnapshotAssertion) -> None:
    model = HF(repo=NAME)
    assert weights.get(model.weights or "").licence == wording
    model.repository.described()
    entry = weights.get(model.weights or "")
    assert entry.licence == "our licence"
    assert entry.training_data == wording
    assert entry.pages == (f"https://huggingface.co/{NAME}",)
    assert weights.seen(model, ["spine_ct"]) == "unknown"


def test_untrained_networks_need_no_weights(at_hub: Hub) -> None:
    model = HF(repo=NAME)
    model.runtime = Runtime(random=True)
    model.load()
    assert at_hub.loads() == 0


def test_shards_are_all_needed(at_hub: Hub) -> None:
    tensors = at_hub.commits[FIRST].pop("model.safetensors")
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = json.dumps({"weight_map": {"a": names[0], "b": names[1]}}).encode()
    at_hub.commits[FIRST] |= {"model.safetensors.index.json": index, names[0]: tensors, names[1]: tensors}
    folder = fetch(HF(repo=NAME).weights or "")
    assert [file.name for file in hub.weight_files(folder)] == names
    assert weights.identity(HF(repo=NAME)) not in ("", hashlib.sha256(tensors).hexdigest())
    (folder / names[1]).unlink()
    assert weights.find(HF(repo=NAME).weights or "") is None


def test_what_arrived_damaged_is_refused(at_hub: Hub, wording: SnapshotAssertion) -> None:
    at_hub.lies = True
    with pytest.raises(IntraBenchError) as caught:
        fetch(HF(repo=NAME).weights or "")
    assert caught == wording


@pytest.mark.parametrize(
    ("repo", "revision", "changed"),
    [
        ("someone/else", "main", {}),
        (NAME, "v9", {}),
        (NAME, "main", {"gated": True}),
        (NAME, "main", {"status": 500}),
        (NAME, "main", {"main": SECOND}),
    ],
)
def test_refusals_are_one_sentence(
    at_hub: Hub, repo: str, revision: str, changed: Any, wording: SnapshotAssertion
) -> None:
    at_hub.commits[SECOND] = {k: v for k, v in at_hub.commits[FIRST].items() if not k.endswith(".safetensors")}
    vars(at_hub).update(changed)
    with pytest.raises(IntraBenchError) as raised:
        fetch(HF(repo=repo, revision=revision).weights or "")
    assert raised == wording
    assert "\n" not in str(raised.value)


def test_without_a_connection(at_hub: Hub, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for ask in (HF(repo=NAME).check_runnable, lambda: fetch(HF(repo=NAME).weights or "")):
        with pytest.raises(IntraBenchError) as caught:
            ask()
        assert caught == wording


def test_by_the_command(at_hub: Hub) -> None:
    told = CliRunner().invoke(app, ["info", f"hf:repo={NAME}"])
    assert "weights licence: our licence" in told.output
    assert at_hub.loads() == 0
    assert "licence our licence" in CliRunner().invoke(app, ["weights", "get", f"hf:repo={NAME}"]).output
    assert FIRST in CliRunner().invoke(app, ["weights", "path", f"hf:repo={NAME}"]).output
