"""Pins the series of the data sets that come from the Imaging Data Commons.

Run with the commons' index, which the package idc-index-data carries (here version 25.0.5):

    python docs/make_cohorts.py .../idc_index_data/idc_index.parquet

writes intrabench/datasets/families/cohorts/*.csv. A case has one series of labels and those images that it may
belong to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

COHORTS = Path(__file__).parents[1] / "intrabench" / "datasets" / "families" / "cohorts"
KIND, ABOUT, STUDY = pl.col("Modality"), pl.col("SeriesDescription").fill_null(""), "StudyInstanceUID"


def lnq(series: pl.LazyFrame) -> pl.LazyFrame:
    """Both series of every patient."""
    return series.filter(pl.col("collection_id") == "mediastinal_lymph_node_seg").with_columns(case="PatientID")


def colorectal_livermets(series: pl.LazyFrame) -> pl.LazyFrame:
    """The CT of every patient and its authors' segmentation, not that of a model which was added later."""
    own = (KIND == "CT") | pl.col("analysis_result_id").is_null()
    return series.filter((pl.col("collection_id") == "colorectal_liver_metastases") & own).with_columns(
        case="PatientID"
    )


def adrenal_acc(series: pl.LazyFrame) -> pl.LazyFrame:
    """The segmentation of every patient and the CTs of its study; it tells itself which one it belongs to."""
    labelled = (KIND == "SEG").any().over(STUDY)
    return (
        series.filter(pl.col("collection_id") == "adrenal_acc_ki67_seg").filter(labelled).with_columns(case="PatientID")
    )


def hcc_tace(series: pl.LazyFrame) -> pl.LazyFrame:
    """Studies with exactly one CT named Recon 3 and exactly one segmentation by the authors."""
    kept = ((KIND == "CT") & ABOUT.str.contains("Recon 3", literal=True)) | (
        (KIND == "SEG") & (ABOUT == "Segmentation")
    )
    pair = ((KIND == "CT").sum().over(STUDY) == 1) & ((KIND == "SEG").sum().over(STUDY) == 1)
    return series.filter((pl.col("collection_id") == "hcc_tace_seg") & kept).filter(pair).with_columns(case="PatientID")


def rider_lung(series: pl.LazyFrame) -> pl.LazyFrame:
    """One case per structure set, with the CTs of its study; test and retest are often in one study."""
    own = series.filter(pl.col("collection_id") == "rider_lung_ct")
    contours = own.filter((KIND == "RTSTRUCT") & (pl.col("analysis_result_id") == "rider_lungct_seg"))
    case = pl.concat_str("PatientID", ABOUT.str.to_lowercase(), separator="_")
    cases = contours.select(STUDY, case=case)
    images = own.filter(KIND == "CT").join(cases, on=STUDY)
    return pl.concat([contours.with_columns(case=case), images], how="diagonal")


RULES: Mapping[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    rule.__name__: rule for rule in (lnq, colorectal_livermets, adrenal_acc, hcc_tace, rider_lung)
}


def cohort(series: pl.LazyFrame, name: str) -> pl.DataFrame:
    """The pinned series of one data set, one per row."""
    chosen = RULES[name](series).select(
        "case",
        kind=KIND,
        uid="SeriesInstanceUID",
        uuid="crdc_series_uuid",
        files="instanceCount",
        mb=pl.col("series_size_MB").round(2),
        about=ABOUT,
    )
    return chosen.sort("case", "kind", "uid").collect()


if __name__ == "__main__":
    index = pl.scan_parquet(sys.argv[1])
    for name in RULES:
        table = cohort(index, name)
        table.write_csv(COHORTS / f"{name}.csv")
        print(f"{name}: {table['case'].n_unique()} cases, {len(table)} series, {table['mb'].sum() / 1000:.1f} GB")
