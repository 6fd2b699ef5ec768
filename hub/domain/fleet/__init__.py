"""Members and their capacity as arrays."""
