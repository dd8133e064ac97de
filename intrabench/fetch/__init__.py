"""Where the files of data sets come from: places, transfers, archives."""
