"""Servers of ours: who may ask them what, and what they speak; models for the clients of nnInteractive."""
