"""A person prompts: sessions that are played one turn at a time, with a log that no kill can shorten."""
