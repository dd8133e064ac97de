"""First clicks as people give them."""
