"""Which cluster."""
