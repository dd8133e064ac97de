"""The registry of weights, and their download."""
