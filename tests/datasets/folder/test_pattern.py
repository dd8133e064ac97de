"""Patterns of paths: what they find, and how a path is read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from intrabench.datasets.folder.pattern import FilePatterns, Pattern


def touch(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{case}/ct.nii", {"a/ct.nii": [{"case": "a"}], "b_1/ct.nii": [{"case": "b_1"}]}),
        ("{case}/{case}_x.nii", {"a/a_x.nii": [{"case": "a"}]}),
        ("{patient}_{time}/ct.nii", {"b_1/ct.nii": [{"patient": "b", "time": "1"}]}),
        (
            "a/{case}_{label}.nii",
            {
                "a/a_x.nii": [{"case": "a", "label": "x"}],
                "a/a_b_x.nii": [{"case": "a_b", "label": "x"}, {"case": "a", "label": "b_x"}],
            },
        ),
        ("*/*t.nii", {"a/ct.nii": [{}], "b_1/ct.nii": [{}]}),
        ("{case}/", {"a": [{"case": "a"}], "b_1": [{"case": "b_1"}]}),
        ("a/{case}/", {}),
        ("{patient}/{patient}_{case}_{patient}.nii", {}),
        (".hidden/{case}.nii", {".hidden/ct.nii": [{"case": "ct"}]}),
        ("a/ct.ni", {}),
    ],
)
def test_files_that_fit(tmp_path: Path, pattern: str, found: dict[str, list[dict[str, str]]]) -> None:
    root = touch(tmp_path / "lab", "a/ct.nii", "a/a_x.nii", "a/a_b_x.nii", "a/.b_x.nii", "b_1/ct.nii", ".hidden/ct.nii")
    assert {str(path.relative_to(root)): read for path, read in Pattern(pattern).find(root)} == found


def test_two_names_of_a_path_are_read_together(tmp_path: Path) -> None:
    """The longest patient of the folder's name does not fit the file's."""
    root = touch(tmp_path / "lab", "a_b_c/a_c.nii")
    (found,) = Pattern("{patient}_{case}/{patient}_c.nii").find(root)
    assert found[1] == [{"patient": "a", "case": "b_c"}]


def test_a_rule_writes_its_lines() -> None:
    images = Pattern("{case}/t1.nii"), Pattern("{case}/t2.nii")
    rule = FilePatterns(images, Pattern("{case}/seg.nii"), Pattern("{case}/{label}.nii"))
    assert tomllib.loads(rule.lines()) == {
        "image": ["{case}/t1.nii", "{case}/t2.nii"],
        "label": "{case}/seg.nii",
        "structures": "{case}/{label}.nii",
    }
    assert FilePatterns(images[:1], Pattern("{case}/seg.nii")).lines().startswith('image = "{case}/t1.nii"\n')
