"""What several metrics share: voxel counts and surfaces."""
