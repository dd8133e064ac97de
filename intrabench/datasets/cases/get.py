"""Before the cases of a data set are prepared: the files that all of them need, and room on the disk."""

from __future__ import annotations

from collections.abc import Iterable

from intrabench.datasets.base import Dataset, Files, Watch
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.fetch import download
from intrabench.fetch.source import Source
from intrabench.files.atomic import writing


def fetch_shared(dataset: Dataset, watch: Watch) -> None:
    """Download the files that all cases need; some data sets know their cases only afterwards.

    Raises:
        IntraBenchError: a file cannot be downloaded, or the disk has too little space.
    """
    downloads = store.downloads_of()
    ask_for_space(dataset, store.to_download(dataset))
    problems = []
    for source in dataset.sources():
        try:
            Files(downloads, downloads, watch).fetch(source)
        except IntraBenchError as error:  # try the others too, and report all files that are missing
            problems.append(str(error))
    if problems:
        raise IntraBenchError(" ".join(problems))


def ask_for_space(dataset: Dataset, files: Iterable[Source]) -> None:
    """Refuse downloads that do not fit on the disk together, before the first one starts; the data set names them.

    Raises:
        IntraBenchError: the disk has too little space, or cannot be written to.
    """
    folder = store.downloads_of()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    download.ask_for_space(folder / dataset.name, int(sum(file.megabytes for file in files) * 1e6))
