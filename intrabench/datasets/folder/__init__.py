"""Folders and files of the user's as data sets: how they are laid out, read, named and checked."""
