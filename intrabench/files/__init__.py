"""Files: written whole or not at all, read as far as their headers can be true, locked, cleaned up."""
