"""From a checkpoint and clicks to probabilities."""
