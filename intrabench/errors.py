"""The exceptions and warnings whose messages users read, and the guard around code of others that raises them."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class IntraBenchError(Exception):
    """A message for the user: one sentence that names the file or option, what was expected and what to do next.

    Further arguments are more lines for a terminal, such as those to write into a file; elsewhere all is one line.

    passing: what went wrong may be gone when the same command is given again, as with a network.
    """

    passing: ClassVar[bool] = False

    def __str__(self) -> str:
        """The message in one line."""
        return "; ".join(str(line).strip() for line in self.args)


class Unfinished(IntraBenchError):
    """The run ended before all was done; what is complete is kept, and the same command continues."""


class NotApplicable(IntraBenchError):
    """The model cannot take these prompts, not even adapted; the session gets the status ``not_applicable``."""


class WrongType(IntraBenchError):
    """A method gave something of the wrong type; the message names it, what it gave and what was expected."""


class Changed(IntraBenchError):
    """Code of others changed what all share; the message says what, and what to write instead."""


class Quit(Exception):
    """Code of others, such as a plug-in, tried to end the whole program; see `foreign`."""


class foreign(ContextDecorator):
    """Around every call of code that others wrote: a model, a prompter, a data set, a metric, or the import of one.

    What such code raises to end the whole program, as `sys.exit` does, becomes `Quit`, which is an exception like any
    other, so that only its session or command fails. Ctrl-C is the user's own. Never yield inside of it: a generator
    that is closed looks the same as code that raises GeneratorExit. What it changed of the `global_state` is set back.

    Raises:
        Changed: it changed them; what else it raised is more important.
    """

    def __init__(self) -> None:
        self._before: list[Mapping[str, Any]] = []  # a decorated function may call itself

    def __enter__(self) -> None:
        self._before.append(global_state())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        changed = restore(self._before.pop())
        if changed and (error is None or isinstance(error, StopIteration)):
            raise Changed(f"it changed {changed}")
        if error is not None and not isinstance(error, Exception | KeyboardInterrupt):
            what = error_text(error, repr)[:200] or type(error).__name__
            raise Quit(f"{what} would have ended the program; raise an ordinary exception").with_traceback(at)


MOST = 2000
"""Characters of what an exception says; more are cut off, for they would be repeated in every row."""


def error_text(error: BaseException, how: Callable[[BaseException], str] = str) -> str:
    """What an exception says, in one line; nothing if its own ``__str__`` fails."""
    try:
        with foreign():
            text = legible(how(error))
    except Exception:
        return ""
    return text if len(text) <= MOST else f"{text[: MOST - 4]} ..."


def attempt(call: Callable[[], T], failed: str, remedy: str) -> T:
    """What a call of code that others wrote gives; whatever it raises becomes ``FAILED (what it was); REMEDY``.

    Raises:
        IntraBenchError: the call failed; its own messages stay as they are.
    """
    try:
        with foreign():
            return call()
    except IntraBenchError:
        raise
    except Exception as error:
        raise IntraBenchError(f"{failed} ({in_words(error)}); {remedy}") from error


def about_path(error: Exception) -> str:
    """The sentence about a path that the system cannot take, such as one that is too long; empty for other errors."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        name = legible(str(error.filename))
        return f"{name if len(name) <= 200 else f'{name[:196]} ...'}: {error.strerror.lower()}; give another path"
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "a path begins with ~ and a name that no user here has; write the whole path"
    return ""


def legible(text: str) -> str:
    """A text of others in one line, and what is not UTF-8, which no row can hold, as Python writes it."""
    return " ".join(text.split()).encode(errors="backslashreplace").decode()


def is_foreign(error: Exception) -> bool:
    """Whether an exception came through code of the user's own, or is `Quit`."""
    return isinstance(error, Quit) or bool(_place(error))


def in_words(error: Exception) -> str:
    """What went wrong, in one line: our own messages as they are, others after the name of their exception.

    An exception that was raised in a user's file, or below it, ends in the line of that file.
    """
    text = error_text(error)
    if text and isinstance(error, IntraBenchError):
        return text
    if isinstance(error, Quit):
        return text + _place(error)
    if isinstance(error, ValueError | TypeError) and _NO_WRITING.search(text):
        text = f"{READ_ONLY} ({text})"
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__) + _place(error)


def cause(error: str) -> str:
    """What a sentence has in common with all those about the same cause, which differ in numbers, paths and addresses.

    That is the sentence with N for numbers, PATH for paths, and ADDRESS for addresses of networks and of memory. What
    ``--trust`` would allow stays as it is: who allows it must see all of it, not one example.
    """
    if "--trust" in error:
        return error
    place = _LINE.search(error)
    text = error[: place.start() if place else MOST]  # anybody may have written it
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text + (place[0] if place else "")


_LINE = re.compile(r", in line \d+ of \S+$")
"""Where in the user's code it happened, as `in_words` ends its sentences: two lines are two causes."""
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{0,20}+://[^\s'\"()<>,;]*[^\s'\"()<>,;:.]"), "ADDRESS"),
    (re.compile(r"(['\"])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^'\"]*\1"), "PATH"),  # quoted, perhaps with spaces
    (re.compile(r"(?<![\w/.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^\s'\"()<>,;]*[^\s'\"()<>,;:.]"), "PATH"),
    (re.compile(r"(?<![\w/.+-])[\w.+-]++(?:/[\w.+-]++)*/[\w.+-]*\.\w++(?![\w/])"), "PATH"),  # relative, with a suffix
    (re.compile(r"(?<![\w/.+-])[\w.+-]++(?:/\.*+[\w+-]++(?:\.++[\w+-]++)*+){2,}+"), "PATH"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ADDRESS"),  # of memory
    (re.compile(r"\b(?=[0-9a-f-]{0,35}[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b"), "N"),  # keys and hashes
    (re.compile(r"(?:(?<!\w)[-+])?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?"), "N"),
)


def passes(error: BaseException) -> bool:
    """Whether the same command may succeed later: a lack of memory, time, disk or network, but no bug or bad file."""
    lack = isinstance(error, MemoryError | TimeoutError | ConnectionError) or type(error).__name__ == "OutOfMemoryError"
    return lack or (isinstance(error, IntraBenchError) and error.passing)


LONGEST = 6000
"""Characters of a traceback; its beginning is cut off, for its end says where it happened."""


def traced(error: BaseException) -> str:
    """The traceback of an exception, as Python prints it."""
    try:
        with foreign():  # what its own `__str__` does
            lines = "".join(traceback.format_exception(error)).rstrip()
    except Exception:
        return ""
    text = lines.encode(errors="backslashreplace").decode()
    return text if len(text) <= LONGEST else f"... {text[-LONGEST:]}"


_NO_WRITING = re.compile("read-only|set WRITEABLE")
"""In what numpy, Cython and Python say when they refuse to write."""


READ_ONLY = "a scan, a mask or prompts, which all share, cannot be written into; copy the array first, array.copy()"

RECORDED = "__intrabench_source__"
"""Where a module that was imported from a user's file keeps the hash of its source, as it was then."""


def _place(error: Exception) -> str:
    """The last line of the user's own code that an exception came through."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if RECORDED in frame.f_globals or (
            frame.f_globals.get("__name__") == "__main__" and Path(__file__).parent not in path.parents
        ):
            place = f", in line {line} of {path.name if '__file__' in frame.f_globals else 'a cell'}"
    return place.encode(errors="backslashreplace").decode()


def several(count: int, what: str) -> str:
    """A number of things: ``1 case``, ``2 cases``."""
    return f"{count} {what}{'s' * (count != 1)}"


def some(texts: Sequence[str]) -> str:
    """Texts in a row, of many only the first ones."""
    return ", ".join(texts[:_SHOWN]) + (f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


_SHOWN = 3


def kind(value: Any) -> str:
    """What a value is, for messages: ``None``, ``the class Click``, or the name of its type."""
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


class FailedSessions(UserWarning):
    """Some sessions of a run in Python failed; their rows have a status and the error."""


class ChangedPatients(UserWarning):
    """Stored rows are of other patients than before, because the data set says so now."""


class PartialResults(UserWarning):
    """A table does not show everything that its results folder should have: the message says what is left out."""


def broken(path: Path | str, error: Exception, what: str = "damaged") -> IntraBenchError:
    """The error for a file that a library cannot read, with the library's reason."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    with suppress(OSError):
        if not isinstance(error, PermissionError) and not Path(path).stat().st_size:
            return IntraBenchError(f"{path} is empty, a file of 0 bytes; fetch or export it again")
    return IntraBenchError(f"{path} cannot be read: it is truncated or {what} ({reason[-1]}); fetch or export it again")


@contextmanager
def reading(path: Path | str, what: str = "damaged") -> Iterator[None]:
    """Turn any exception into `broken`; libraries raise various exceptions for damaged files."""
    try:
        yield
    except IntraBenchError:
        raise
    except Exception as error:
        raise broken(path, error, what) from error


@dataclass(frozen=True)
class _Setting:
    """usual: the value before anybody changed it. instead: how code changes it only for itself."""

    what: str
    usual: Any
    get: Callable[[], Any]
    put: Callable[[Any], Any]
    instead: str


def global_state() -> Mapping[str, Any]:
    """The values that are set now."""
    settings = _settings()
    with suppress(Exception):
        return {setting.what: setting.get() for setting in settings}
    found: dict[str, Any] = {}
    for setting in settings:
        with suppress(Exception):  # a folder that was deleted or is ITK's; settings of torch that exclude each other
            found[setting.what] = setting.get()
    return found


def restore(before: Mapping[str, Any]) -> str:
    """Set all values as `global_state` found them; what had changed, and what to write instead, or nothing."""
    changed = ""
    if global_state() == before:  # nearly always, and it is asked for each batch
        return changed
    for setting in _settings():
        was = before.get(setting.what, setting.usual)
        with suppress(Exception):
            if was is not None and setting.get() != was:
                setting.put(was)
                changed = changed or f"{setting.what}, which everything in this run shares; {setting.instead}"
    return changed


def _settings() -> tuple[_Setting, ...]:
    torch = sys.modules.get("torch")
    return _known_settings(torch is not None and hasattr(torch, "backends"))  # else it is only being imported


def _current_folder() -> str:
    """The current folder.

    Raises:
        OSError: there is none, or it is that of ITK, which goes there and back while a thread loads it.
    """
    folder = os.getcwd()
    if (itk := sys.modules.get("itkConfig")) is not None and folder == os.path.realpath(itk.swig_lib):
        raise OSError("ITK is being loaded")
    return folder


@cache
def _known_settings(with_torch: bool) -> tuple[_Setting, ...]:
    folder = _Setting(
        "the current folder", None, _current_folder, os.chdir, "give whole paths, or use contextlib.chdir"
    )
    if not with_torch:
        return (folder,)
    import torch

    cudnn: Any = torch.backends.cudnn
    fast = os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE") == "1"  # as in containers of NVIDIA
    return (
        folder,
        _Setting(
            "the default type of torch",
            torch.float32,
            torch.get_default_dtype,
            torch.set_default_dtype,
            "give tensors their type, dtype=torch.float64",
        ),
        _Setting(
            "the precision of products in torch (set_float32_matmul_precision, allow_tf32)",
            "high" if fast else "highest",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
            "set it in the method that needs it, and back",
        ),
        _Setting(
            "torch.backends.cudnn.allow_tf32",
            True,
            lambda: cudnn.allow_tf32,
            lambda value: setattr(cudnn, "allow_tf32", value),
            "use torch.backends.cudnn.flags",
        ),
        *(
            _Setting(
                f"autocast of torch on {device}",
                False,
                partial(torch.is_autocast_enabled, device),
                partial(torch.set_autocast_enabled, device),
                "write: with torch.autocast(...)",
            )
            for device in ("cpu", "cuda")
        ),
    )
