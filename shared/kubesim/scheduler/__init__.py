"""Scheduling of pods to nodes, and the creation of new nodes."""
