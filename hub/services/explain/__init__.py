"""Explanations: why a job waits, where it is, and what would change it."""
