"""What models share: batching, embeddings, checkpoints, slices, crops."""
