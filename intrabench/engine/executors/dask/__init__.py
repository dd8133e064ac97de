"""The workers of a Dask cluster as the hands of a run."""
