"""How good each cluster is."""
