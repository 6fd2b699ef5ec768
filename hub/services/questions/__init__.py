"""Everything else that is read."""
