"""One file per model, with a base class, and parts that models share."""
