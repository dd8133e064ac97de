"""The functions behind the command line, in Python; they return data and print nothing."""
