"""People in the browser: rating masks, and what else needs a person."""
