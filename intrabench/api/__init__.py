"""What `intrabench` offers in Python: the functions behind the command line. They return data and print nothing."""
