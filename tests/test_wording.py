"""Wording is kept as it was said, in files that everybody can read, and that are the same on every machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.wording import FOLDER, TESTS, Places, line_with, lines, read, sentence_with, without_reasons, write


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    texts = ["one", "one\n", "one\n\ntwo  ", " one", "", ["one", "two\n"], [["one", ""], "## two"], {"a": "b\nc"}, []]
    entries = {f"test_{number}[## a]": "\n".join(lines(text)) for number, text in enumerate(texts)}
    assert len(set(entries.values())) == len(texts)
    entries |= {"test_10": entries["test_8[## a]"]}
    write(tmp_path / "a.txt", entries)
    assert read(tmp_path / "a.txt") == entries
    assert list(read(tmp_path / "a.txt")) == list(entries)
    write(tmp_path / "a.txt", {})
    assert not (tmp_path / "a.txt").exists()


def test_equal_texts_stand_once(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", {"b": "> 1", "c": "> 2", "a": "> 1"})
    assert (tmp_path / "a.txt").read_text().splitlines() == ["## a", "## b", "> 1", "", "## c", "> 2"]


def test_lines_and_sentences_are_found_by_their_words() -> None:
    text = "one; two. three\n  four; one\n  four; one\n"
    assert (line_with(text, "four"), line_with(["a b", "c"], "b")) == ("four; one", "a b")
    assert (sentence_with(text, "two"), sentence_with("<p>one <b>two</b></p>", "two")) == ("two.", "two")
    for words in ("one", "five"):
        with pytest.raises(AssertionError, match="lines with"):
            line_with(text, words)
    assert without_reasons("a is damaged (Errno 2 (none)); mend it (b)") == "a is damaged; mend it"


def test_what_depends_on_the_machine_is_replaced(tmp_path: Path) -> None:
    replaced = Places(tmp_path / "here", tmp_path)
    given = f"{tmp_path}/here/a, {tmp_path}/there, {Path(__file__).parent}/b, in 3 s\n2 of 3 sessions, 0 failed, in 3 s"
    expected = "<tmp>/a, <base>/there, <repository>/tests/b, in 3 s\n2 of 3 sessions, 0 failed, in <time>"
    assert replaced(data=given, path=()) == expected


def test_no_file_names_a_folder_of_a_machine() -> None:
    for path in FOLDER.rglob("*.txt"):
        found = re.findall(r"/tmp/|/root/|/work/|site-packages", path.read_text(encoding="utf-8"))
        assert (found, path) == ([], path)


def test_each_entry_is_of_a_test() -> None:
    for path in FOLDER.rglob("*.txt"):
        module = ast.parse((TESTS / path.relative_to(FOLDER).with_suffix(".py")).read_text(encoding="utf-8"))
        functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))
        tests = {one.name for one in functions if "wording" in (argument.arg for argument in one.args.args)}
        names = {found[0] for name in read(path) if (found := re.search(r"test_\w+", name))}
        assert names <= tests, path
