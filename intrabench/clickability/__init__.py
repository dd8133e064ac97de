"""Clickability models, maps of where people click: the published model, its training, and simple baselines."""
