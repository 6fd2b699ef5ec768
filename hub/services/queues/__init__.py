"""Queue objects: the quota tree, their conditions and defaults."""
