"""The Job controller, and a queue manager in front of it."""
