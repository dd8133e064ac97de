"""Models: the contract, one file per model, and what 2D networks share."""
