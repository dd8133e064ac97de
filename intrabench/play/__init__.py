"""Sessions and how they are played: turns, adaptation, effort, lockstep."""
