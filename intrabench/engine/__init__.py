"""Plans runs, carries them out and resumes them, verifies, previews, checks a model."""
