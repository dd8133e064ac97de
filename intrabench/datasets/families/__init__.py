"""What several data sets have in common."""
