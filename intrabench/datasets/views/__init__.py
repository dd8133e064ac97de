"""Data sets that show the stored cases of others in a different way; nothing of that is stored."""
