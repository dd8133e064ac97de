"""The pages in docs/ are run as a reader would; their code is the code of the examples."""

from __future__ import annotations

import ast
import csv
import hashlib
import importlib.util
import inspect
import io
import re
import shlex
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import intrabench
from intrabench.mask import Mask
from intrabench.protocols import PROTOCOLS
from intrabench.results.masks import read_masks
from intrabench.volume import Volume, write_nifti
from intrabench.workspace import PARTS, make_workspace
from tests import documented, tutorials
from tests.conftest import Said
from tests.server import Server, answer

ROOT = documented.ROOT
PAGES = ("adding_a_prompter", "adding_a_model", "adding_a_dataset", "adding_a_metric")


def blocks(page: str, language: str) -> list[str]:
    return documented.blocks(ROOT / "docs" / f"{page}.md", language)


def test_the_readme_of_a_package_index_has_whole_addresses_of_what_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    how = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    (fragment,) = how["fragments"]
    text = before = (ROOT / fragment["path"]).read_text("utf-8")
    for rule in how["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    addresses = re.findall(r"\]\(([^)]*)\)", text)
    assert len(addresses) == len(re.findall(r"\]\(([^)]*)\)", before)) > 40
    assert all(address.startswith(("https://", "#")) for address in addresses)
    source = project["project"]["urls"]["Source"]
    ours = [address for address in addresses if address.startswith(f"{source}/blob/main/")]
    pictures = re.findall(r"!\[[^]]*\]\(https://raw\.githubusercontent\.com/intrabench/intrabench/main/([^)]*)\)", text)
    assert len(pictures) == 2
    assert len(ours) > 20
    for path in [*pictures, *(address.removeprefix(f"{source}/blob/main/").partition("#")[0] for address in ours)]:
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_the_page_work_in_order(
    page: str, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.cwd()
    for line in "".join(blocks(page, "console")).splitlines():
        words = shlex.split(line.removeprefix("$ "))
        if words[0] == "cd":
            folder = folder / words[1]
            monkeypatch.chdir(folder)
            continue
        assert words[0] == "intrabench"
        said = say(*words[1:])
        assert said.code == 0, f"{line}\n{said.out}{said.err}"
    if page == "adding_a_prompter":
        assert (folder / "preview.png").stat().st_size > 1000
    assert list(folder.glob("results/rows/*.parquet"))


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_page_is_the_example_of_the_workspace(page: str) -> None:
    code, *_ = blocks(page, "python")
    room = page.removeprefix("adding_a_") + "s"
    (example,) = (ROOT / room).glob("*.py")
    assert code == example.read_text()


@pytest.mark.parametrize(("page", "example"), [("clickability", "bright.py"), ("superpixels", "bands.py")])
def test_the_code_of_a_page_is_the_example_of_the_workspace(page: str, example: str) -> None:
    assert blocks(page, "python") == [(ROOT / page / example).read_text()]


def test_the_refinement_of_the_page_works(data: Path) -> None:
    _, code, *_ = blocks("adding_a_prompter", "python")
    Path("last_missed.py").write_text(code)
    rows = intrabench.run(
        "random_walker",
        "box_volume",
        "phantom:shape=16x32x32,instances=1",
        refine="last_missed",
        rounds=2,
        plugin=[Path("last_missed.py")],
    )
    assert rows["prompter"].to_list() == ["box_volume+last_missed"] * 3
    assert rows["interactions"].to_list() == [3, 4, 5]


def test_the_examples_of_joint_sessions_work(data: Path) -> None:
    Path("worst_first.py").write_text(blocks("adding_a_prompter", "python")[-1])
    Path("nearest_click.py").write_text(blocks("adding_a_model", "python")[-1])
    plugin = [Path("worst_first.py"), Path("nearest_click.py")]
    phantom, model = "phantom:shape=24x48x48,instances=3", "nearest_click:radius_mm=12"
    options: dict[str, Any] = {"rounds": 2, "plugin": plugin, "cases": "first:1", "save_masks": True}
    rows = intrabench.run(model, "worst_first", phantom, joint="others=ignore,overlap=keep", out="together", **options)
    assert rows["status"].unique().to_list() == ["ok"]
    first, second = (rows.filter(round=number)["interactions"].sum() for number in (0, 1))
    assert (first, second) == (3, 4)  # a click each, then one into the worst
    answers = [read_masks(Path("together"), session)[-1] for session in rows["session"].unique()]
    assert sum(mask.voxels for mask in answers) == Mask.union(answers).voxels > 0  # a label map
    alone = intrabench.run(model, "worst_first", phantom, out="alone", **options)
    assert alone.filter(round=0)["interactions"].to_list() == [1, 1, 1]
    apart = [read_masks(Path("alone"), session)[0] for session in alone["session"].unique()]
    assert sum(mask.voxels for mask in apart) > Mask.union(apart).voxels


def test_the_network_of_the_page_works_with_weights_from_a_file(data: Path) -> None:
    import torch

    code = next(block for block in blocks("adding_a_model", "python") if "class ClickNet" in block)
    Path("click_net.py").write_text(code)
    layers = torch.nn.Conv3d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv3d(8, 1, 3, padding=1)
    network = torch.nn.Sequential(*layers).requires_grad_(False)
    given = "click_net", "points_volume:n=1+click_deepest", "phantom:shape=8x16x16,instances=1"
    options: dict[str, Any] = {"rounds": 1, "plugin": [Path("click_net.py")], "out": "out"}
    dice = []
    for bias in (-100.0, 100.0):  # of two files with one name
        network[-1].bias.fill_(bias)
        torch.save(network.state_dict(), "click_net.pt")
        rows = intrabench.run(*given, **options)
        assert rows["status"].unique().to_list() == ["ok" if bias > 0 else "empty"]
        assert rows["weights_sha256"][0] == hashlib.sha256(Path("click_net.pt").read_bytes()).hexdigest()
        dice.append(rows["dice"].to_list())
    share = rows["target_voxels"][0] / (8 * 16 * 16)
    assert dice[0] == [0, 0]
    assert dice[1] == pytest.approx([2 * share / (1 + share)] * 2)


def test_a_joint_model_without_its_method_is_told_so(data: Path) -> None:
    code = blocks("adding_a_model", "python")[-1]
    for now, said in (
        (code.replace("def segment_together", "def segmented"), "is joint; write its method segment_together"),
        (code.replace("JointAnswer((0, 0, 0), np", "tuple(np"), "expected a JointAnswer"),
    ):
        Path("nearest_click.py").write_text(now)
        options: dict[str, Any] = {"plugin": [Path("nearest_click.py")], "joint": "others=ignore,overlap=keep"}
        rows = intrabench.run("nearest_click", "points_volume:n=1", "phantom:shape=16x32x32", out="out", **options)
        assert said in rows["error"][0]


def test_the_published_data_set_of_the_page_works(data: Path, server: Server) -> None:
    body = io.BytesIO()
    labels = np.zeros((8, 16, 16), dtype=np.uint8)
    labels[1:7, 2:14, 2:14] = 1
    labels[2:4, 3:6, 3:6] = labels[5, 9:13, 9:13] = 2  # 18 and 16 voxels
    labels[4, 12, 3] = 2  # one that is too small
    with zipfile.ZipFile(body, "w") as archive:
        for case in ("case_1", "case_2"):
            for folder, array in (("images", 40 * labels), ("labels", labels)):
                write_nifti(Path("one.nii.gz"), array, Volume.from_canonical(array).grid)
                archive.writestr(f"liver_ct/{folder}/{case}.nii.gz", Path("one.nii.gz").read_bytes())
    server.pages["/liver_ct.zip"] = answer(body=body.getvalue())
    code = blocks("adding_a_dataset", "python")[1]
    code = code.replace("https://example.org/liver_ct.zip", f"{server.root}/liver_ct.zip")
    code = code.replace("0123456789abcdef" * 2, hashlib.md5(body.getvalue()).hexdigest())
    Path("liver_ct.py").write_text(code)
    rows = intrabench.run("box_fill", "box_slice", "liver_ct", plugin=[Path("liver_ct.py")])
    assert rows.select("case", "target", "target_voxels").rows() == [
        (case, f"tumour.{instance}", voxels) for case in ("case_1", "case_2") for instance, voxels in ((1, 18), (2, 16))
    ]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Load a script of docs/."""
    monkeypatch.syspath_prepend(ROOT / "docs")  # one script takes from another, as when they run

    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)  # dataclasses look their module up there
        spec.loader.exec_module(made)
        return made

    return load


def test_every_prompter_that_can_be_played_has_a_small_picture(script: Callable[[str], Any]) -> None:
    pictures = list((ROOT / "docs" / "prompters").glob("*.png"))
    examples = script("make_prompters").examples()
    assert {path.stem for path in pictures} == {example.name for example in examples if example.played}
    assert max(path.stat().st_size for path in pictures) < 40_000


def test_short_pages_are_what_make_docs_writes_now(script: Callable[[str], Any]) -> None:
    for page, name in script("short_pages").SCRIPTS.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert text == script(name).index(), f"{page}; run: make docs"
        assert len(text.split()) < 2000, page


def test_whole_pages_name_commands_and_files_that_exist(
    script: Callable[[str], Any], results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results.parent)
    for name in script("short_pages").SCRIPTS.values():
        made = script(name)
        if name == "make_prompters":  # the site plays them
            monkeypatch.setattr(made.Example, "effort", lambda example: "")
        for place, text in made.pages().items():
            page = tmp_path / place.replace("/", "_")
            page.write_text(text, encoding="utf-8")
            _check_commands(page, results)
            _check_blocks_and_files(page)


def test_every_protocol_has_a_page(script: Callable[[str], Any]) -> None:
    made = script("make_protocols")
    assert set(made.pages()) == {made.PAGE, *map(made.file_name, PROTOCOLS)}
    assert set(made.MORE) <= {id.partition("@")[0] for id in PROTOCOLS}


def test_a_short_page_without_its_mark_is_not_written_over(
    script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_pages = script("short_pages")
    monkeypatch.setattr(short_pages, "FOLDER", tmp_path)
    (tmp_path / "models.md").write_text("# Models\n\nWritten by hand.\n")
    with pytest.raises(ValueError, match=r"docs/models\.md"):
        short_pages.short("models.md", [])


def test_every_published_number_is_in_a_page(script: Callable[[str], Any]) -> None:
    pages = script("make_protocols").pages()
    numbers = ROOT / "intrabench" / "reporting" / "reference"
    for file, names in {
        "intrabench_paper.csv": ["intrabench-1"],
        "rclicks.csv": ["rclicks-1", "rclicks-users-1"],
        "superpixels_table2.csv": ["superpixels-1"],
        "superpixels_table3.csv": ["superpixels-1"],
    }.items():
        lines = [line for line in (numbers / file).read_text().splitlines() if not line.startswith("#")]
        cells = {cell for name in names for cell in re.split(r" \| | \|\n\| |\| | \|", pages[f"protocols/{name}.md"])}
        _, *rows = csv.reader(lines)
        hidden = {"intrabench_paper.csv": (0, -1), "rclicks.csv": (0,)}.get(file, ())  # table, seen; the file
        for row in rows:
            shown = [cell for number, cell in enumerate(row) if number not in {n % len(row) for n in hidden}]
            missing = {cell for cell in shown if cell not in cells and f"{cell} (seen)" not in cells}
            assert not missing, (file, row)


def test_drawings_are_what_make_docs_draws_now(script: Callable[[str], Any]) -> None:
    drawn = {f"{name}.svg": draw().svg() for name, draw in script("make_drawings").DRAWINGS.items()}
    there = (ROOT / "docs" / "concepts").glob("*.svg")
    assert {path.name: path.read_text() for path in there} == drawn, "run: make docs"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with one session, in a workspace with the examples of ``intrabench init``."""
    folder = tmp_path_factory.mktemp("documented") / "bench"
    make_workspace(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder.parent / "data"))
        made, out = "phantom:shape=16x32x32,instances=1", folder / "results"
        intrabench.run("box_fill", "box_slice", made, out=out, rounds=0, metric=["j_and_f", "dmm"])
    return folder / "results"


@pytest.mark.parametrize("page", documented.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_command_line_takes_every_command_of_the_page(
    page: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results.parent)
    _check_commands(page, results)


def _check_commands(page: Path, results: Path) -> None:
    for words in documented.commands(page):
        try:
            documented.check(words, results)
        except Exception as error:
            pytest.fail(f"{shlex.join(words)}\n{type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("intrabench run --modle sam", "--modle"),
        ("intrabench rum --model sam", "rum"),
        ("intrabench --install-completions", "--install-completions"),
        ("intrabench job --slurm -n 8 -- run --model smam > job.sh", "smam"),
        ("intrabench run --model sam --rounds many", "valid integer"),
        ("intrabench run --model smam --prompter box_slice", "smam"),
        ("intrabench run --model sam:size=xxl", "xxl"),
        ("intrabench run --model sam --prompter box_interp:m=3", "'m'"),
        ("intrabench run --model sam --refine scrible", "scrible"),
        ("intrabench run --model sam --hand jitter=2", "jitter"),
        ("intrabench run --model sam --stop dise=0.9", "dise"),
        ("intrabench run --model sam --dataset spine_xt", "spine_xt"),
        ("intrabench run --model sam --protocol intrabench@1 --only 'Box XX'", "Box XX"),
        ("intrabench table --metric noc:treshold=0.9", "treshold"),
        ("intrabench table --fromat csv", "--fromat"),
        ("intrabench weights get sam_vit_z", "sam_vit_z"),
        ("intrabench info sma", "sma"),
        ("intrabench list model", "model"),
        ("intrabench preview --model sam", "prompter"),
        ("pip install '.[litemedsan]'", "litemedsan"),
        ("make dmeo", "dmeo"),
        ("intrabnech run --model sam", "intrabnech"),
    ],
)
def test_a_wrong_command_in_a_page_is_found(
    command: str, reason: str, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results.parent)
    with pytest.raises(Exception, match=re.escape(reason)):
        documented.check(shlex.split(command), results)


def test_commands_are_found_in_blocks_with_variables_and_in_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Try `intrabench list\nmodels`.\n"
        '```sh\nP="--prompter a\n   --prompter b"\nintrabench run $P \\\n  --rounds 1  # twice\n```\n'
    )
    assert list(documented.commands(page)) == [
        ["intrabench", "run", "--prompter", "a", "--prompter", "b", "--rounds", "1"],
        ["intrabench", "list", "models"],
    ]


@pytest.mark.parametrize("page", documented.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_pages_that_a_page_names_exist(page: Path) -> None:
    _check_blocks_and_files(page)
    text = page.read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        if not link.startswith("https://"):
            there = page.parent / link if link else page
            assert there.exists(), link
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.M) if anchor else []
            slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert not anchor or anchor in slugs, f"{link}#{anchor}"


def _check_blocks_and_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    opening = re.findall(r"^```.*$", text, re.M)[::2]
    assert set(opening) <= {f"```{language}" for language in ("sh", "console", "python", "text", "toml", "yaml")}
    assert all(yaml.safe_load(content) for content in documented.blocks(page, "yaml"))
    for code in documented.blocks(page, "python"):
        compile(code, str(page), "exec")
    run = page in tutorials.PAGES or page.stem in (*PAGES, "your_own_data")
    assert "```console" not in opening or run, "only tests of these pages run them"
    for path in re.findall(r"`(intrabench/[\w/.]+|tests/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", ["README.md", "docs/clickability.md"])
def test_the_python_of_the_page_runs(page: str, data: Path) -> None:
    for code in documented.blocks(ROOT / page, "python"):
        names: dict[str, object] = {}
        exec(code, names)
        if "rows" in names:
            assert names["rows"]["dice"].min() > 0  # type: ignore[index]


def test_the_notebook_of_the_page_on_python(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for code in documented.blocks(ROOT / "docs" / "python.md", "python"):
        exec(compile(code, "cell", "exec"), names)
    assert capsys.readouterr() == ("", "")
    assert len(names["table"]) == 2
    assert names["pictures"][0].size[0] > 200
    assert set(names["rows"]["model"]) == {"bright", "bright:quantile=0.3", "box_fill"}
    iou = dict(names["by_model"].select("model", "average").rows())
    assert iou["bright"] > iou["bright:quantile=0.3"] > iou["box_fill"] > 0.3
    assert names["worse"] == {"whole_box": False}
    assert [verdict.found for verdict in names["verdicts"]] == ["equal"] * 2
    assert names["problems"] == []
    assert set(names["wrapped"]["status"]) == {"ok"}
    assert list(names["grown"]) == [("case-1", "case-2", "blob.1"), ("case-2", "case-3", "blob.1")]
    assert names["page"].stat().st_size > 100_000


def test_what_is_public_is_documented_and_pages_import_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    index = importlib.import_module("python_pages").pages()["README.md"]
    assert sorted(re.findall(r"\[`(\w+)`\]", index)) == sorted(intrabench._MODULES)
    named = [getattr(intrabench, name) for name in intrabench._MODULES]
    assert all(one.__doc__ for one in named if inspect.isclass(one) or inspect.isfunction(one))
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    section = page.partition("## What is public")[2].partition("\n## ")[0]
    elsewhere, imported = set(re.findall(r"`intrabench\.([\w.]+)`", section)), set()
    own = [page.read_text(encoding="utf-8") for room in PARTS[:-1] for page in (ROOT / room).glob("*.py")]
    for code in [*own, *(code for page in documented.PAGES for code in documented.blocks(page, "python"))]:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                imported |= {one.name.partition(".")[2] for one in node.names if one.name.startswith("intrabench")}
            elif isinstance(node, ast.ImportFrom) and (module := node.module or "").partition(".")[0] == "intrabench":
                imported.add(module.partition(".")[2])
                assert module != "intrabench" or {one.name for one in node.names} <= set(intrabench._MODULES)
    assert imported - {""} == elsewhere


def test_the_page_on_python_lists_the_functions() -> None:
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.M)
    functions = {name for line in listed for name in re.findall(r"\w+", line)}
    assert functions == {
        name for name, module in intrabench._MODULES.items() if ".api." in module and name not in intrabench.__all__
    }
