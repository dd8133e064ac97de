"""Parts that models share: batching, embeddings, checkpoints, slices, crops."""
