"""One file per data set or family of them, with a base class; reading, converting and storing their cases."""
