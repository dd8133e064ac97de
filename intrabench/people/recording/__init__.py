"""What people give to a server of nnInteractive's protocol, written down on the way, and read as recorded prompts."""
