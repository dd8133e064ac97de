"""Programs as others write them, stand-ins for what runs containers, and small requests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Request
from intrabench.prompts import Prompts, box3d
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

NPZ_PREDICTOR = """
import glob, os
import numpy as np
inputs, outputs = os.environ.get("INPUTS", "inputs"), os.environ.get("OUTPUTS", "outputs")
for path in sorted(glob.glob(inputs + "/*.npz")):
    data = np.load(path, allow_pickle=True)
    segs = data["prev_pred"].copy() if "prev_pred" in data else np.zeros(data["imgs"].shape, np.uint8)
    for label, box in enumerate(data["boxes"] if "prev_pred" not in data else [], 1):
        z, y, x = (slice(box[a], box[b] + 1) for a, b in (
            ("z_min", "z_max"), ("z_mid_y_min", "z_mid_y_max"), ("z_mid_x_min", "z_mid_x_max")))
        segs[z, y, x] = label
    for label, clicks in enumerate(data["clicks"] if "clicks" in data else [], 1):
        for kind, value in (("fg", label), ("bg", 0)):
            for z, y, x in clicks[kind]:
                segs[z, y, x] = value
    np.savez_compressed(os.path.join(outputs, os.path.basename(path)), segs=segs)
"""
"""Fifteen lines: fills boxes first, then sets the voxels of clicks in its last answer."""

GC_PREDICTOR = """
import glob, json, os
import SimpleITK as sitk
inputs, outputs = os.environ.get("INPUTS", "input"), os.environ.get("OUTPUTS", "output")
(path,) = glob.glob(inputs + "/images/ct/*.mha")
scan = sitk.ReadImage(path)
answer = sitk.Image(scan.GetSize(), sitk.sitkUInt8)
answer.CopyInformation(scan)
for point in json.load(open(inputs + "/lesion-clicks.json"))["points"]:
    answer[point["point"]] = int(point["name"] == "tumor")
folder = outputs + "/images/tumor-lesion-segmentation/"
os.makedirs(folder, exist_ok=True)
sitk.WriteImage(answer, folder + os.path.basename(path), True)
"""
"""Marks the voxels of its points."""

CONTAINERS = '''#!PYTHON -SE
"""Runs no containers: it notes how it was called, and runs the command in a folder with links to the mounted ones."""
import datetime, json, os, shutil, subprocess, sys
home, words = os.path.dirname(os.path.abspath(__file__)), sys.argv[1:]
with open(home + "/log", "a") as log:
    log.write(json.dumps(words) + "\\n")
environment = {k: v for k, v in os.environ.items() if k not in ("INPUTS", "OUTPUTS")}

def placed(name, binds):
    place = home + "/" + name
    os.makedirs(place)
    for bind in binds:
        outer, inner = bind.removesuffix(":ro").split(":")
        os.symlink(outer, place + "/" + inner.rpartition("/")[2])
    return place

def binds(option):
    return [words[i + 1] for i, word in enumerate(words) if word == option]

def ran(place, command):
    ready = [word.replace("/workspace", place).replace("/output/", place + "/output/") for word in command]
    return subprocess.run(ready, cwd=place, env=environment).returncode

if os.path.basename(__file__) == "docker":
    if words[:2] == ["image", "inspect"]:
        if words[2] != "mine":
            sys.exit("Error: No such image: " + words[2])
        print(json.dumps([{"Id": "sha256:0123456789abcdef", "Config": {"Cmd": COMMAND}}]))
    elif words[0] == "inspect":
        file = home + "/" + words[-1] + (".begun" if "StartedAt" in words[-2] else ".oom")
        print(open(file).read() if os.path.exists(file) else "false")
    elif words[0] == "run":
        name = words[words.index("--name") + 1]
        place = placed(name, binds("--volume"))
        open(home + "/" + name + ".begun", "w").write(datetime.datetime.utcnow().isoformat() + "123Z")
        if "--detach" not in words:
            code = ran(place, words[words.index("mine") + 1:] or COMMAND)
            if os.path.exists(home + "/kills"):
                open(home + "/" + name + ".oom", "w").write("true")
                code = 137
            sys.exit(code)
    elif words[0] == "exec":
        sys.exit(ran(home + "/" + words[1], words[2:]))
    elif words[0] == "rm":
        shutil.rmtree(home + "/" + words[-1])
elif words[0] == "exec" and words[-8].startswith("instance://") or "instance://" in " ".join(words[:4]):
    name = next(word for word in words if word.startswith("instance://"))
    sys.exit(ran(home + "/" + name.removeprefix("instance://"), words[words.index(name) + 1:]))
elif words[0] == "exec":
    place = placed("once-" + str(os.getpid()), binds("--bind"))
    code = ran(place, words[[word.endswith(".sif") for word in words].index(True) + 1:])
    shutil.rmtree(place)
    sys.exit(code)
elif words[:2] == ["instance", "start"]:
    placed(words[-1], binds("--bind"))
elif words[:2] == ["instance", "stop"]:
    shutil.rmtree(home + "/" + words[-1])
'''


def stand_in(folder: Path, name: str, command: list[str]) -> Path:
    """A stand-in for docker or apptainer whose image runs a command; returns its log."""
    folder.mkdir(exist_ok=True)
    text = CONTAINERS.replace("#!PYTHON", f"#!{sys.executable}").replace("COMMAND", repr(command))
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(0o755)
    return folder / "log"


def predictor(folder: Path, text: str = NPZ_PREDICTOR) -> str:
    """A command that runs a predictor."""
    path = folder / "predict.py"
    path.write_text(text, encoding="utf-8")
    return f"{sys.executable} {path}"


def shell(folder: Path, text: str) -> str:
    """A command that runs a script of the shell."""
    path = folder / "predict.sh"
    path.write_text(text, encoding="utf-8")
    return f"sh {path}"


SHAPE = (5, 6, 7)


def scan() -> Volume:
    """A small scan in which all voxels differ, of 8 bits."""
    array = np.arange(np.prod(SHAPE), dtype=np.uint8).reshape(SHAPE)
    return Volume.from_canonical(array, (3.0, 2.0, 1.5))


def boxed(*box: int, session: str = "s", turns: tuple[Turn, ...] = (), mask: Mask | None = None) -> Request:
    """A request with a 3D box and then other turns."""
    return Request(session, (Turn(box3d(box)), *turns), mask or Mask.empty())  # type: ignore[arg-type]


def clicked(*rows: tuple[int, int, int, int]) -> Turn:
    """A turn of clicks ``z, y, x, label``."""
    return Turn(Prompts(np.array(rows)), (Click(),) * len(rows))


def processes() -> set[str]:
    """The commands of all processes."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found.add(Path("/proc", entry, "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
    return found
