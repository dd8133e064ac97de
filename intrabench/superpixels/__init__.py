"""Methods that divide an image, a file per family, with a base class; `partitions` is what is measured of them."""
