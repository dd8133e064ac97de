"""What computed a result: the version of a component, and a hash of the user's own code, which it imports."""
