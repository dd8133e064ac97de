"""Sentences with names and citations in three formats, and citations of cards as BibTeX."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.publishing.methods.markup import Bibliography, count, key_of, listed, name, plain, write

SENTENCE = "A model, `a_b:n=1,c=50%`, had 5 % & more [[clark2013,graf]]."


def test_a_sentence_in_each_format() -> None:
    numbers = {"clark2013": 1, "graf": 2}
    assert write(SENTENCE, "text", numbers) == "A model, a_b:n=1,c=50%, had 5 % & more [1, 2]."
    assert write(SENTENCE, "markdown", numbers) == r"A model, `a_b:n=1,c=50%`, had 5 % \& more [@clark2013; @graf]."
    assert write(SENTENCE, "latex", numbers) == (
        r"A model, \texttt{a\_b:n=1,c=50\%}, had 5 \% \& more~\cite{clark2013,graf}."
    )


@given(st.text())
def test_no_text_of_a_card_or_a_row_becomes_markup(text: str) -> None:
    assert write(name(text), "text", {}) == plain(text)
    assert write(plain(text), "text", {}) == plain(text)


def test_lists_and_numbers() -> None:
    assert [listed(list(parts)) for parts in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert [count(n, "case") for n in (0, 1, 2, 12, 13)] == [
        "no cases",
        "one case",
        "two cases",
        "twelve cases",
        "13 cases",
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("K. Clark et al., J Digit Imaging 26, 1045 (2013), doi:10.1007/s10278-013-9622-7", "clark2013"),
        ("C. Rother, V. Kolmogorov, A. Blake, GrabCut (2004)", "rother2004"),
        ("R. Graf et al., TPTBox, SoftwareX, doi:10.1016/j.softx.2026.103055", "graf"),
        ("Du et al., SegVol, arXiv 2311.13385", "du2023"),
        ("7, https://example.org", "source"),
    ],
)
def test_keys(text: str, key: str) -> None:
    assert key_of(text) == key


def test_citations_of_a_card_are_taken_apart_and_each_stands_once(wording: SnapshotAssertion) -> None:
    cites = Bibliography()
    one = (
        "template: V. Fonov et al., NeuroImage (2011); atlas: R. S. Desikan et al., NeuroImage (2006); it has 70 labels"
    )
    assert cites.cite([one]) == " [[fonov2011,desikan2006]]"
    assert cites.cite(["V. Fonov et al., NeuroImage (2011)"]) == " [[fonov2011]]"
    assert cites.cite(["V. Fonov et al., Another (2011)"]) == " [[fonov2011a]]"
    assert cites.cite(["not stated", ""]) == ""
    assert list(cites.entries) == ["fonov2011", "desikan2006", "fonov2011a"]
    assert cites.entries["desikan2006"] == wording


def test_an_entry_keeps_the_text_whole() -> None:
    cites = Bibliography()
    cites.cite(["A. B. Moawad et al., 100 % of {cases} & more, doi:10.7937/tcia.5fna-0924"])
    assert cites.bibtex() == (
        "@misc{moawad,\n"
        "  title = {{A. B. Moawad et al., 100 \\% of cases \\& more, doi:10.7937/tcia.5fna-0924}},\n"
        "  doi = {10.7937/tcia.5fna-0924}\n"
        "}\n"
    )
