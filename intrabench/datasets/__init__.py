"""One file per data set, with a base class; reading, converting and storing their cases."""
