"""From the formats that data are published in to volumes and masks in the canonical geometry."""
