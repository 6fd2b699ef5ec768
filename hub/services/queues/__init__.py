"""Queue objects: the quota tree, usage, conditions and defaults."""
