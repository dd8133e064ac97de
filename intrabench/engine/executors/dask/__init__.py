"""The workers of a Dask cluster as the executors of a run."""
