"""Job scripts for clusters: one file per scheduler, and what fills them in."""
