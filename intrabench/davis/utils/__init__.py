"""Names that existing scripts import."""
