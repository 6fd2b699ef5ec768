"""Bringing clusters to what placements declare."""
