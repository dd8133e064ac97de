"""Programs of others as models: how they are started, and the files that go in and come out."""
