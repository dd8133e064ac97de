"""The same as functions in Python, which return data and print nothing."""
