"""The Python interface of `intrabench`: the functions behind the command line. They return data and print nothing."""
