"""Submissions, which anybody can make from a results folder, and the static site that is built from many of them."""
