"""Where units run."""
