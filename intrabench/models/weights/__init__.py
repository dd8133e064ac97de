"""The registry of weights, and how they are fetched."""
