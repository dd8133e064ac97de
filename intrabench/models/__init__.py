"""Models: the contract, one file per model, and parts that models share."""
