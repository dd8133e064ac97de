"""Methods that divide an image into superpixels, in volumes supervoxels: one file per family."""
