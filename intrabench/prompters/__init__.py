"""Simulated users: first prompts, refinements, the user error model, one class each."""
