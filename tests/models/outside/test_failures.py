"""Whatever a program does wrong is a failure with one sentence, and harms nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Answer, Failure, JointRequest, open_image
from intrabench.models.npz import Npz
from intrabench.play.joint_answer import shares
from tests.conftest import Said
from tests.models.outside.made import SHAPE, boxed, predictor, processes, scan, shell, stand_in

SECONDS = 10_000 + os.getpid()
"""Nothing else sleeps so long."""


def failure(model: Npz) -> Failure:
    with open_image(model, scan()) as image:
        (found,) = image.segment([boxed(0, 0, 0, 1, 1, 1)])
    assert isinstance(found, Failure)
    assert found.message.count("\n") == 0
    return found


def written(folder: Path, **arrays: Any) -> str:
    """A program that writes these arrays."""
    np.savez(folder / "ready.npz", **arrays)
    return shell(folder, f'for one in "$INPUTS"/*; do cp {folder}/ready.npz "$OUTPUTS/$(basename "$one")"; done')


@pytest.mark.parametrize(
    "script",
    [
        "echo starting; echo no GPU here >&2; exit 3",
        "kill -SEGV $$",
        "kill -KILL $$",
        "true",
        "echo no mask today",
        'touch "$OUTPUTS/other.npz"',
        'echo nothing > "$OUTPUTS/case.npz"',
        'ln -s /etc/hostname "$OUTPUTS/case.npz"',
        'mkdir "$OUTPUTS/case.npz"',
        'mkfifo "$OUTPUTS/case.npz"',
    ],
)
def test_programs_that_fail(tmp_path: Path, script: str, wording: SnapshotAssertion) -> None:
    found = failure(Npz(command=shell(tmp_path, script)))
    assert found.status == "error"
    assert found.message == wording
    assert f"sh {tmp_path}/predict.sh" in found.message


@pytest.mark.parametrize(
    "arrays",
    [
        {"other": np.zeros(SHAPE, np.uint8)},
        {"segs": np.zeros((5, 6, 8), np.uint8)},
        {"segs": np.zeros(SHAPE, np.float32)},
        {"segs": np.full(SHAPE, 2, np.uint8)},
        {"segs": np.full(SHAPE, -1, np.int8)},
    ],
)
def test_answers_that_cannot_be_right(tmp_path: Path, arrays: Any, wording: SnapshotAssertion) -> None:
    assert failure(Npz(command=written(tmp_path, **arrays))).message == wording


def test_nothing_in_an_answer_is_unpickled(tmp_path: Path, wording: SnapshotAssertion) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "unpickled"),)

    evil = np.empty(SHAPE, dtype=object)
    evil[0, 0, 0] = Evil()
    assert failure(Npz(command=written(tmp_path, segs=evil))).message == wording
    assert not (tmp_path / "unpickled").exists()


def test_sizes_are_checked_before_memory_is_taken(tmp_path: Path) -> None:
    """A header that announces the right shape, of numbers that are not there."""
    head = "{'descr': '<i8', 'fortran_order': False, 'shape': (%s, 6, 7), }"
    program = (
        "import os, struct, zipfile\n"
        "for name in os.listdir(os.environ['INPUTS']):\n"
        f"    head = {head!r} % EXTENT\n"
        "    file = zipfile.ZipFile(os.environ['OUTPUTS'] + '/' + name, 'w')\n"
        "    file.writestr('segs.npy', b'\\x93NUMPY\\1\\0' + struct.pack('<H', len(head)) + head.encode())\n"
        "    file.close()\n"
    )
    for extent, sentence in (("5", "cannot hold"), ("50000000000", "have the shape (50000000000, 6, 7)")):
        command = predictor(tmp_path, program.replace("EXTENT", extent))
        assert sentence in failure(Npz(command=command)).message


def test_boolean_and_large_whole_numbers_are_answers(tmp_path: Path) -> None:
    for dtype in (bool, np.int64):
        with open_image(Npz(command=written(tmp_path, segs=np.ones(SHAPE, dtype))), scan()) as image:
            (found,) = image.segment([boxed(0, 0, 0, 1, 1, 1)])
        assert isinstance(found, Answer)
        assert found.update.voxels == np.prod(SHAPE)


def test_extra_labels_fail_a_joint_session(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with open_image(Npz(command=written(tmp_path, segs=np.full(SHAPE, 3, np.uint8))), scan()) as image:
        asked = JointRequest("j", (boxed(0, 0, 0, 1, 1, 1),) * 2, (True, True))
        (found,) = image.segment_jointly([asked])
    one, _ = shares(found, [0, 1], 2)
    assert isinstance(one, Failure)
    assert one.message == wording


def test_a_crash_on_one_case_fails_that_one_alone(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """The program crashes whenever it finds a certain box; the others are run without it."""
    text = (
        "import glob, os, sys\nimport numpy as np\n"
        "for path in sorted(glob.glob(os.environ['INPUTS'] + '/*')):\n"
        "    data = np.load(path, allow_pickle=True)\n"
        "    if data['boxes'][0]['z_min'] == 2:\n"
        "        sys.exit('cannot segment this')\n"
        "    np.savez(os.environ['OUTPUTS'] + '/' + os.path.basename(path), segs=data['imgs'] * 0 + 1)\n"
    )
    with open_image(Npz(command=predictor(tmp_path, text)), scan()) as image:
        found = image.segment([boxed(z, 0, 0, z + 1, 1, 1) for z in (0, 2, 3)])
    assert [isinstance(one, Answer) for one in found] == [True, False, True]
    assert isinstance(found[1], Failure)
    assert found[1].message == wording


def test_an_old_answer_is_never_taken_for_a_new_one(tmp_path: Path) -> None:
    script = f"""
        [ -e {tmp_path}/second ] && exit 0
        touch {tmp_path}/second; cp {tmp_path}/ready.npz "$OUTPUTS/case.npz"
    """
    np.savez(tmp_path / "ready.npz", segs=np.ones(SHAPE, np.uint8))
    with open_image(Npz(command=shell(tmp_path, script)), scan()) as image:
        (first,) = image.segment([boxed(0, 0, 0, 1, 1, 1)])
        (second,) = image.segment([boxed(0, 0, 0, 1, 1, 1)])
    assert isinstance(first, Answer)
    assert isinstance(second, Failure)
    assert "it wrote no case.npz" in second.message


def test_a_time_limit_ends_all_that_was_started(tmp_path: Path, wording: SnapshotAssertion) -> None:
    script = shell(tmp_path, f"sleep {SECONDS}.5 & sleep {SECONDS}.5")
    started = time.perf_counter()
    found = failure(Npz(command=script, time_limit_s=0.3))
    assert time.perf_counter() - started < SECONDS
    assert found.status == "timeout"
    assert "within 0.3" in found.message
    assert found.message == wording
    talking = failure(Npz(command=shell(tmp_path, f"echo loading weights; sleep {SECONDS}.8"), time_limit_s=0.5))
    assert talking.message.endswith("raise time_limit_s: loading weights")
    assert not any(f"sleep {SECONDS}.5" in command for command in processes())


def test_a_program_that_is_not_there(tmp_path: Path, wording: SnapshotAssertion) -> None:
    found = failure(Npz(command=f"{tmp_path}/nowhere x"))
    assert found.message == wording


def test_a_container_that_takes_too_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    stand_in(tmp_path / "bin", "docker", ["true"])
    (tmp_path / "bin" / "kills").touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = failure(Npz(docker="mine", command="true"))
    assert found.status == "oom"
    assert found.message == wording
    assert not [path for path in (tmp_path / "bin").iterdir() if path.is_dir()]  # it was removed


def test_a_container_that_does_not_come_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    stand_in(tmp_path / "bin", "docker", ["true"])
    text = (tmp_path / "bin" / "docker").read_text()
    (tmp_path / "bin" / "docker").write_text(text.replace('if "--detach" not in words:', 'if sys.exit("no such GPU"):'))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = failure(Npz(docker="mine", stay=True))
    assert found.message == wording


KILLED = """
import sys
from intrabench.models.base import open_image
from intrabench.models.npz import Npz
from tests.models.outside.made import boxed, scan
with open_image(Npz(command="sh " + sys.argv[1]), scan()) as image:
    image.segment([boxed(0, 0, 0, 1, 1, 1)])
"""


def test_a_program_does_not_outlive_us(tmp_path: Path) -> None:
    """As when ``--timeout`` ends a worker, or the system does."""
    shell(tmp_path, f"sleep {SECONDS}.6; true")
    root = Path(__file__).parents[3]
    words = [sys.executable, "-c", KILLED, str(tmp_path / "predict.sh")]
    worker = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(root), "TMPDIR": str(tmp_path)})
    _until(lambda: any(f"sleep {SECONDS}.6" in command for command in processes()))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    _until(lambda: not any(f"sleep {SECONDS}.6" in command for command in processes()))


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_failures_are_rows(tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    spec = f'npz:command="{shell(tmp_path, "echo broken; exit 1")}"'
    words = ["--dataset", "phantom:shape=6x12x12,instances=1", "--prompter", "box_volume", "--out", str(tmp_path / "o")]
    said = say("run", "--model", spec, *words)
    assert said.code == 1
    (row,) = pl.read_parquet(tmp_path / "o" / "rows" / "*.parquet").to_dicts()
    assert (row["status"], row["dice"]) == ("error", 0.0)
    assert row["error"] == wording


@pytest.mark.slow
def test_a_wave_that_takes_longer_than_the_timeout_of_the_run(tmp_path: Path, say: Callable[..., Said]) -> None:
    slow = shell(tmp_path, f"sleep {SECONDS}.7")
    spec = f"npz:command='{slow}'"
    words = ["--dataset", "phantom:shape=6x12x12,instances=1", "--prompter", "box_volume", "--out", str(tmp_path / "o")]
    said = say("run", "--model", spec, *words, "--workers", "1", "--timeout", "1")
    assert said.code == 1
    (row,) = pl.read_parquet(tmp_path / "o" / "rows" / "*.parquet").to_dicts()
    assert row["status"] == "timeout"
    _until(lambda: not any(f"sleep {SECONDS}.7" in command for command in processes()))


def test_a_command_that_is_not_there_is_refused_before_anything_runs(
    say: Callable[..., Said], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    out = tmp_path / "out"
    said = say("run", "-m", "npz:command='no_such --fast'", "-p", "box_volume", "-d", "phantom", "--out", str(out))
    assert said.code == 2
    assert said.err == wording
    assert not out.exists()
