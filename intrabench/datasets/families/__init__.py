"""Base classes shared by several data sets."""
