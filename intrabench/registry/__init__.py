"""Finds classes by name and checks them; makes objects of specs; says what a spec reaches."""
