"""A session and how it is played: turns, adaptation, effort, lockstep."""
