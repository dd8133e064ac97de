"""Results in the formats that others read: one file for each format, all from the same `Evidence`."""
