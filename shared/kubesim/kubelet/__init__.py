"""Nodes, and how pods live on them."""
