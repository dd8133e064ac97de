"""How somebody's program is started: as a command of this machine, in a Docker container, or in an Apptainer image.

Containers get no network, a bound of memory, inputs that they cannot write into, and no new privileges.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from intrabench.errors import IntraBenchError, legible

LARGEST_SCRIPT = 64 << 20
"""Bytes; larger files of a command, such as weights, count by their names and sizes only."""
ASKING_SECONDS = 120.0
"""For a short question to Docker, or to end a container."""
SHARED_MEMORY = "2g"
"""What libraries of networks need to hand batches from process to process; Docker gives 64 MB."""


@dataclass(frozen=True)
class Inside:
    """Where a program finds its files in a container, and what is run there (nothing: what the image says)."""

    inputs: str
    outputs: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    """What a container may use. memory_gb: 0 is unlimited. options: further words for Docker or Apptainer."""

    memory_gb: float = 32.0
    network: bool = False
    gpu: bool = False
    options: tuple[str, ...] = ()


class Launcher(ABC):
    """The commands that start and end a program; all are lists of words, none goes through a shell.

    hint: the end of a sentence on a wrong answer.
    """

    hint: ClassVar[str] = ""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is run, for messages."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What is run, in few characters that change when it does.

        Raises:
            IntraBenchError: it is not there.
        """

    def check(self) -> None:
        """Refuse what is not there.

        Raises:
            IntraBenchError: the sentence.
        """
        self.identity  # noqa: B018  # asks for the image

    @abstractmethod
    def once(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """Run it once on the files in `inputs`; `name` is one that nothing else on the machine has."""

    def up(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """Bring a container up that stays."""
        raise IntraBenchError(f"{self.words} cannot stay up, only containers can; omit stay, or give docker=IMAGE")

    def again(self, name: str) -> list[str]:
        """Run it in a container that is up."""
        raise NotImplementedError

    def down(self, name: str, stays: bool) -> list[str]:
        """End and remove a container, whatever its state; nothing: there is none. stays: it was brought `up`."""
        return []

    def begun(self, name: str, outputs: Path) -> float | None:
        """When the program itself began, in seconds since the epoch, once it has ended; None: nobody knows."""
        return None

    def ran_out_of_memory(self, name: str) -> bool:
        """Whether it was killed because it took more memory than it may."""
        return False


@dataclass(frozen=True)
class Command(Launcher):
    """A command of this machine, run in the current folder.

    ``{inputs}`` and ``{outputs}`` in it become the folders, which are also in its environment as INPUTS and OUTPUTS.
    """

    hint: ClassVar[str] = "; a command reads in the folder $INPUTS and writes into $OUTPUTS"
    text: str

    @property
    def words(self) -> str:
        """The command."""
        return self.text

    @cached_property
    def identity(self) -> str:
        """A hash of the files that the command names: a script, and whatever else."""
        found = hashlib.sha256()
        for word in shlex.split(self.text):
            path = Path(word)
            if path.is_file():
                size = path.stat().st_size
                found.update(path.read_bytes() if size <= LARGEST_SCRIPT else f"{path.name} {size}".encode())
        return found.hexdigest()[:12]

    def check(self) -> None:
        """Refuse a program that is neither a file nor found by its name."""
        program = shlex.split(self.text)[0]
        if shutil.which(program) is None:
            raise IntraBenchError(
                f"command={self.text!r} names {program}, which is no program of this machine; give a path, "
                "make the file executable (chmod +x), or name its interpreter, as in command='sh predict.sh'"
            )

    def once(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """The command with its folders."""
        words = shlex.split(self.text)
        return [word.replace("{inputs}", str(inputs)).replace("{outputs}", str(outputs)) for word in words]


@dataclass(frozen=True)
class Container(Launcher):
    """An image. engines: the programs that can run its containers; the first one that is here does."""

    engines: ClassVar[tuple[str, str]]
    image: str
    inside: Inside
    limits: Limits = Limits()

    @property
    def words(self) -> str:
        """The image, and what is run in it."""
        command = f" ({shlex.join(self.inside.command)})" if self.inside.command else ""
        return f"{self.engines[0]} image {self.image}{command}"

    @cached_property
    def engine(self) -> str:
        """The path of the program that runs containers."""
        found = next(filter(None, map(shutil.which, self.engines)), None)
        if found is None:
            raise IntraBenchError(
                f"{self.words} needs {self.engines[0]}, which is not installed here; install it, or give command=..."
            )
        return found


@dataclass(frozen=True)
class Docker(Container):
    """A Docker image; Podman takes the same words, and is used where there is no Docker."""

    engines = ("docker", "podman")

    @cached_property
    def identity(self) -> str:
        """The id of the image; one that is named by its digest need not be here."""
        _, named, digest = self.image.partition("@sha256:")
        return digest[:12] if named else str(self._image["Id"]).removeprefix("sha256:")[:12]

    @cached_property
    def _image(self) -> dict[str, Any]:
        found = _output_of([self.engine, "image", "inspect", self.image])
        try:
            (described,) = json.loads(found.stdout)
            return {"Id": described["Id"], "Config": described.get("Config") or {}}
        except (ValueError, LookupError, TypeError, AttributeError):
            reason = legible(found.stderr)[-200:]
            raise IntraBenchError(
                f"there is no docker image {self.image} here ({reason}); build it, or {Path(self.engine).name} load it"
            ) from None

    def once(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """As the challenges run it, but without ``--rm``: what became of it is asked before it is removed."""
        return [*self._run(name, inputs, outputs), self.image, *self.inside.command]

    def up(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """The container sleeps, and the program is run in it."""
        # so many seconds, because the sleep of small images does not know "infinity"
        sleep = ["--detach", "--entrypoint", "sleep", self.image, "2147483647"]
        return [*self._run(name, inputs, outputs), *sleep]

    def again(self, name: str) -> list[str]:
        """What the image would run, or the command; both as one would in its working folder."""
        config = self._image["Config"]
        command = self.inside.command or tuple(config.get("Cmd") or ())
        return [self.engine, "exec", name, *(config.get("Entrypoint") or ()), *command]

    def down(self, name: str, stays: bool) -> list[str]:
        """Remove it."""
        return [self.engine, "rm", "--force", "--volumes", name]

    def begun(self, name: str, outputs: Path) -> float | None:
        """As Docker wrote it down."""
        return _seconds(self._state(name, "{{.State.StartedAt}}"))

    def ran_out_of_memory(self, name: str) -> bool:
        """As Docker wrote it down."""
        return self._state(name, "{{.State.OOMKilled}}") == "true"

    def _state(self, name: str, what: str) -> str:
        return _output_of([self.engine, "inspect", "--type", "container", "--format", what, name]).stdout.strip()

    def _run(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        limits, inside = self.limits, self.inside
        words = [self.engine, "run", "--name", name, "--security-opt", "no-new-privileges", "--shm-size", SHARED_MEMORY]
        words += [] if limits.network else ["--network", "none"]
        if limits.memory_gb:
            bound = f"{round(limits.memory_gb * 1024)}m"
            # the second bound is of memory and swap together: there is no swap, and what needs more is killed
            words += ["--memory", bound, "--memory-swap", bound]
        if limits.gpu:
            cards = _cards()
            if Path(self.engine).name == "podman":
                words += [word for card in cards or ["all"] for word in ("--device", f"nvidia.com/gpu={card}")]
            else:
                words += ["--gpus", f'"device={",".join(cards)}"' if cards else "all"]
        words += ["--volume", f"{inputs}:{inside.inputs}:ro", "--volume", f"{outputs}:{inside.outputs}"]
        return [*words, *limits.options]


@dataclass(frozen=True)
class Apptainer(Container):
    """An Apptainer (Singularity) image, a file. It sees neither the user's folders nor the environment."""

    engines = ("apptainer", "singularity")

    @cached_property
    def identity(self) -> str:
        """A hash of the head of the image, where its builder wrote a number that no other image has, and its size."""
        try:
            with open(self.image, "rb") as file:
                head = file.read(1 << 16)
                size = file.seek(0, os.SEEK_END)
        except OSError as error:
            raise IntraBenchError(
                f"{self.image} cannot be read ({error.strerror}); give the path of a .sif file, apptainer=IMAGE.sif"
            ) from error
        return hashlib.sha256(head + str(size).encode()).hexdigest()[:12]

    def once(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """Run the command, or what the image says."""
        return [self.engine, "exec", *self._options(inputs, outputs), *self._pwd, self.image, *self._marked]

    def up(self, name: str, inputs: Path, outputs: Path) -> list[str]:
        """An instance, in which nothing runs yet."""
        return [self.engine, "instance", "start", *self._options(inputs, outputs), self.image, name]

    def again(self, name: str) -> list[str]:
        """In an instance."""
        return [self.engine, "exec", *self._pwd, f"instance://{name}", *self._marked]

    def down(self, name: str, stays: bool) -> list[str]:
        """Stop an instance; else there is nothing but the program itself."""
        return [self.engine, "instance", "stop", "--force", name] if stays else []

    def begun(self, name: str, outputs: Path) -> float | None:
        """When the mark was made."""
        try:
            return (outputs / MARK).stat().st_mtime
        except OSError:
            return None

    @property
    def _marked(self) -> list[str]:
        """The program, which leaves a mark when it begins, for Apptainer writes nothing down."""
        command = self.inside.command or ("/.singularity.d/runscript",)
        # The path of the mark is $0 and the command $@, so neither needs quotation marks. By exec the program takes the
        # place of the shell, and its exit code and signals are its own.
        return ["sh", "-c", ': > "$0"; exec "$@"', f"{self.inside.outputs}/{MARK}", *command]

    @property
    def _pwd(self) -> list[str]:
        """Apptainer forgets the working folder of Docker images, which is that of the challenge's."""
        parent = str(Path(self.inside.inputs).parent)
        return ["--pwd", parent] if parent != "/" else []

    def _options(self, inputs: Path, outputs: Path) -> list[str]:
        limits, inside = self.limits, self.inside
        words = ["--containall", "--writable-tmpfs", "--no-privs"]
        words += [] if limits.network else ["--net", "--network", "none"]
        words += ["--memory", f"{round(limits.memory_gb * 1024)}M"] if limits.memory_gb else []
        if limits.gpu:
            words += ["--nv", *(["--env", f"CUDA_VISIBLE_DEVICES={','.join(cards)}"] if (cards := _cards()) else [])]
        words += ["--bind", f"{inputs}:{inside.inputs}:ro", "--bind", f"{outputs}:{inside.outputs}"]
        return [*words, *limits.options]


MARK = ".begun"
"""The file that tells when a program began."""


def launcher(command: str, docker: str, apptainer: str, inside: Inside, limits: Limits) -> Launcher:
    """The launcher of a spec; with an image, the command is run there instead of what `inside` says.

    Raises:
        IntraBenchError: none or both images are given, or the command cannot be read.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise IntraBenchError(f"the command {command!r} cannot be read ({error}); close its quotation marks") from None
    if docker and apptainer:
        raise IntraBenchError("docker and apptainer are both given; give one")
    inside = replace(inside, command=words) if words else inside
    if docker:
        return Docker(docker, inside, limits)
    if apptainer:
        return Apptainer(apptainer, inside, limits)
    if not words:
        raise IntraBenchError('nothing to run; give command="sh predict.sh", docker=IMAGE or apptainer=IMAGE.sif')
    return Command(command)


def _cards() -> list[str]:
    """The GPUs that this process may use; none named: all."""
    return [card for card in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if card]


def _output_of(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What a short command says; one that takes too long says nothing."""
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=ASKING_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _seconds(text: str) -> float | None:
    """Seconds since the epoch of a time as Docker writes it (Podman: with a space and a zone)."""
    from datetime import datetime
    from re import fullmatch

    found = fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d{1,6})?\d*\s*(Z|[+-]\d\d:?\d\d)?.*", text)
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    written = f"{day}T{clock}{fraction or '.0'}{'+0000' if zone in (None, 'Z') else zone.replace(':', '')}"
    return datetime.strptime(written, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
