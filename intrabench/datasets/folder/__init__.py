"""The user's folders and files as data sets: layouts, reading, names of labels, checks."""
