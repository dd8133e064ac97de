"""Downloads: sources, transfers, archives and checksums."""
