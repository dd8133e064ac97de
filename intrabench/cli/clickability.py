"""Commands for clickability models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.console import echo
from intrabench.cli.shared import Plugins, add_plugins
from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    import polars as pl

    from intrabench.clickability.clicked_images import ClickedImages
    from intrabench.clickability.clicks_csv import RealClicks

clickability_app = typer.Typer(
    help="Evaluate and train clickability models (where people click).", no_args_is_help=True
)

Clicks = Annotated[Path, typer.Option("--clicks", help="File of clicks in the format of RClicks (clicks.csv).")]
Datasets = Annotated[list[str], typer.Option("--dataset", "-d", help="Clicked pictures: data set spec or folder.")]
Masks = Annotated[
    Path | None,
    typer.Option("--masks", help="Folder of the corrected masks, STEM.png. Default: use only first clicks."),
]
Device = Annotated[str, typer.Option("--device", help="Only clicks with this device, such as pc or mobile.")]
Display = Annotated[str, typer.Option("--display", help="Only clicks after this display of the object.")]
Format = Annotated[str, typer.Option("--format", help="text, csv, markdown, latex or html")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")]


@clickability_app.command("evaluate")
def clickability_evaluate(
    clicks: Clicks,
    dataset: Datasets,
    model: Annotated[list[str], typer.Option("--model", "-m", help="Clickability models or checkpoints.")],
    masks: Masks = None,
    device: Device = "",
    display: Display = "",
    seed: Seed = 0,
    format: Format = "text",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Compare clickability models with real clicks: PL1 and WD (lower is better), KS, NSS, PDE (higher is better)."""
    from intrabench.clickability.named import click_model
    from intrabench.reporting.formats import check_format
    from intrabench.statistics.click_evaluation import each_means, evaluate

    add_plugins(plugin)
    check_format(format)
    scenes, entries = _scenes(clicks, dataset, masks, device, display)
    models = {spec: click_model(spec) for spec in model}
    found = each_means({spec: evaluate(entries, scenes, one, seed) for spec, one in models.items()})
    _show(found, "model", format, f"{len(entries)} of the entries of {clicks.name}; 95 % intervals over pictures")


@clickability_app.command("compare")
def clickability_compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="File of clicks, or some of it: clicks.csv,device=pc or ,display=NAME.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Other clicks on the same pictures, likewise.")],
    dataset: Datasets,
    masks: Masks = None,
    least: Annotated[int, typer.Option("--least", min=2, help="Only objects with so many clicks in each set.")] = 10,
    seed: Seed = 0,
    format: Format = "text",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Compare two sets of real clicks with each other: PL1 and WD (lower is closer), KS (higher is closer)."""
    from intrabench.reporting.formats import check_format
    from intrabench.statistics.click_evaluation import compare, each_means

    add_plugins(plugin)
    check_format(format)
    sets = []
    for words in (a, b):
        path, which = _some_of(words)
        scenes, entries = _scenes(path, dataset, masks, **which)
        sets.append(entries)
    rows = compare(sets[0], sets[1], scenes, "A and B", seed, least)
    found = each_means(
        {name: rows.filter(compared=name) for name in rows["compared"].unique(maintain_order=True)}, of="compared"
    )
    one = rows.unique(["dataset", "full_stem"])
    title = (
        f"A: {a}, {one['clicks'].sum()} clicks; B: {b}, {one['others'].sum()} clicks on the same objects\n"
        f"objects with {least} clicks or more in each; ks: share of objects whose sets a test does not distinguish; by "
        "chance: the same clicks divided at random; 95 % intervals over pictures"
    )
    _show(found, "compared", format, title)


def _some_of(words: str) -> tuple[Path, dict[str, str]]:
    """A file of clicks and which of it: ``clicks.csv,device=pc``."""
    from intrabench.specs.specs import nearest, parse

    path, comma, which = words.partition(",")
    if not comma or Path(words).is_file():
        return Path(words), {}
    known, give = ("device", "display"), "give FILE, FILE,device=NAME or FILE,display=NAME"
    try:
        chosen = parse(f"clicks:{which}")[1]
    except IntraBenchError as error:
        raise IntraBenchError(
            f"{words} is no file, and {which!r} does not say which clicks of {path}; {give}"
        ) from error
    if unknown := [name for name in chosen if name not in known]:
        raise IntraBenchError(f"{words}: clicks have no {unknown[0]}{nearest(unknown[0], known)}; {give}")
    return Path(path), chosen


def _show(table: pl.DataFrame, of: str, format: str, title: str) -> None:
    """Print means of several (column `of`), in text with what they are of."""
    from intrabench.cli.console import print_frame
    from intrabench.reporting.formats import formatted
    from intrabench.statistics.click_evaluation import wide

    if format == "text":
        print_frame(wide(table, of), title)
    else:
        shown = table if format == "csv" else wide(table, of)
        echo(*formatted(shown, format).removesuffix("\n").split("\n"))


@clickability_app.command("filter")
def clickability_filter(
    clicks: Annotated[Path, typer.Argument(help="File of clicks that `intrabench annotate --first-clicks` wrote.")],
    file: Annotated[Path, typer.Option("--file", help="The file to write, FILE.csv.")],
    radius: Annotated[
        float | None, typer.Option("--radius", min=0, help="Pixels that a click may lie beside its target. Default: 5.")
    ] = None,
) -> None:
    """Keep the clicks that count, as RClicks did: of people who hit 7 of 10 targets, and at most a radius beside."""
    import polars as pl

    from intrabench.cli.console import note
    from intrabench.clickability.clicks_csv import read_clicks
    from intrabench.clickability.valid_clicks import RADIUS, valid
    from intrabench.files.atomic import atomically, writing

    read_clicks(clicks)  # says what is wrong with it
    rows = pl.read_csv(
        clicks, schema_overrides={"image_stem": pl.String, "object_stem": pl.String}, infer_schema_length=None
    )
    most = RADIUS if radius is None else radius
    kept = valid(rows, most)
    if kept.is_empty():
        near = valid(rows, float("inf")).height
        why = f"none is within --radius {most:g}; give a larger one" if near else "nobody hits enough; collect more"
        raise IntraBenchError(f"no click of {clicks} counts: {why}")
    with writing(file), atomically(file) as part:
        kept.write_csv(part)
    note(f"wrote {len(kept)} of {len(rows)} clicks to {file}")


@clickability_app.command("train")
def clickability_train(
    clicks: Clicks,
    dataset: Datasets,
    folder: Annotated[
        Path, typer.Option("--folder", help="Folder for weights and state; repeat the command to continue.")
    ],
    validation: Annotated[
        str, typer.Option(help="Share of pictures for validation, or a file of their names.")
    ] = "0.25",
    masks: Masks = None,
    epochs: Annotated[int, typer.Option(min=1)] = 20,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    lr: Annotated[float, typer.Option(min=1e-9, help="Highest learning rate.")] = 0.01,
    size: Annotated[int, typer.Option(min=64, help="Rows and columns of the network's input.")] = 416,
    sigma: Annotated[float, typer.Option(min=0.01, help="Width of a click in pixels of a 1920 x 1080 image.")] = 5.0,
    device: str = "cpu",
    workers: Annotated[int, typer.Option(min=0, help="Processes that prepare examples.")] = 0,
    seed: Seed = 0,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Train the network of RClicks on clicks with the published recipe; the best epoch's weights are kept."""
    from intrabench.clickability.clicked_images import Examples, divided
    from intrabench.clickability.training import Settings, train
    from intrabench.engine.requirements import pick_device
    from intrabench.specs.specs import quoted

    add_plugins(plugin)
    device = pick_device(device, ("cpu", "cuda"))
    scenes, entries = _scenes(clicks, dataset, masks)
    learnt, kept = divided(entries, validation, seed)
    echo(f"entries: {len(learnt)} for training, {len(kept)} for validation", err=True)
    settings = Settings(epochs, batch, lr, size, sigma, seed=seed, device=device, workers=workers)
    path = train(
        Examples(learnt, scenes),
        Examples(kept, scenes),
        folder,
        settings,
        lambda e: echo(
            f"epoch {e.epoch}: loss {e.loss:.4f}, validation KLD {e.kld:.4f}, SIM {e.sim:.4f}, {e.seconds:.0f} s",
            err=True,
        ),
    )
    echo(f"{path}: use it as --prompter clickability:model={quoted(str(path))}")


def _scenes(
    clicks: Path, specs: list[str], masks: Path | None, device: str = "", display: str = ""
) -> tuple[ClickedImages, list[RealClicks]]:
    """The source of clicked images, and the entries of the file that have an image; of all clicks, or only `only`."""
    from intrabench.clickability.clicked_images import ClickedImages
    from intrabench.clickability.clicks_csv import not_clicked, only, read_clicks
    from intrabench.registry import registry

    if masks is not None and not masks.is_dir():
        raise IntraBenchError(f"--masks {masks} is not a folder; give the folder that holds STEM.png")
    made = [registry.make("datasets", spec) for spec in specs]
    scenes = ClickedImages({dataset.short_spec: dataset for dataset in made}, masks)
    read = read_clicks(clicks)
    entries = scenes.wanted(read)
    if not entries:
        what = "first clicks" if masks is None else "clicks"
        raise IntraBenchError(not_clicked(clicks, read, scenes.datasets, what))
    return scenes, only(entries, clicks, device, display)
