"""What computed a result: the version of a component, and a fingerprint of the user's own code."""
