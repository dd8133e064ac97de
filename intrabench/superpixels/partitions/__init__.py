"""Partitions of an image into superpixels or supervoxels, and what over-segmentation is measured with."""
