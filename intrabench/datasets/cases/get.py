"""Download and convert whole data sets, several cases at once; a case that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

from intrabench.atomic import CannotWrite, writing
from intrabench.datasets.base import Dataset, Files, Watch
from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.fetch.download import DownloadError, ask_for_space

PATIENCE = 5


def fetch_shared(dataset: Dataset, watch: Watch) -> None:
    """Download the files that all cases need; some data sets know their cases only afterwards.

    Raises:
        IntraBenchError: a file cannot be downloaded, or the disk has too little space.
    """
    downloads = store.downloads_of()
    _ask_for_space(dataset, [])
    problems = []
    for source in dataset.sources():
        try:
            Files(downloads, downloads, watch).fetch(source)
        except IntraBenchError as error:  # try the others too, and report all files that are missing
            problems.append(str(error))
    if problems:
        raise IntraBenchError(" ".join(problems))


def get(
    dataset: Dataset, cases: Sequence[str], jobs: int, watch: Watch
) -> Iterator[tuple[str, CaseIndex | IntraBenchError]]:
    """Prepare cases, `jobs` at a time, and yield each when it is finished, with its index or its error.

    Raises:
        IntraBenchError: several cases in a row could not be downloaded or stored, so the others are not tried.
    """
    _ask_for_space(dataset, cases)
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_telling, partial(store.prepare, dataset, case, watch=watch)): case for case in cases}
        try:
            in_vain = 0
            for done in as_completed(running):
                yield running[done], done.result()
                in_vain = in_vain + 1 if isinstance(done.result(), DownloadError | CannotWrite) else 0
                if in_vain == PATIENCE and len(cases) > PATIENCE:
                    raise IntraBenchError(
                        f"{PATIENCE} cases in a row could not be downloaded or stored, so the others were not tried; "
                        "run again later"
                    )
        finally:
            pool.shutdown(cancel_futures=True)


def _telling(work: Callable[[], CaseIndex]) -> CaseIndex | IntraBenchError:
    try:
        with foreign():
            return work()
    except IntraBenchError as error:
        return error
    except Exception as error:  # a damaged file must not stop the other cases
        return IntraBenchError(in_words(error))


def _ask_for_space(dataset: Dataset, cases: Sequence[str]) -> None:
    """Refuse downloads that do not fit on the disk together, before the first one starts."""
    folder = store.downloads_of()
    needed = sum(source.megabytes for source in store.to_download(dataset, cases))
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    ask_for_space(folder / dataset.name, int(needed * 1e6))
