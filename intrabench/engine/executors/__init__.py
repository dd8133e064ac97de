"""Processes that play and prepare, and those who supervise them."""
