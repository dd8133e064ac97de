"""A stand-in for the package of click networks: tiny, with the names that RITM's family shares, and written here."""
