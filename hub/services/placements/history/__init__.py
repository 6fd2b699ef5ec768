"""Revisions of what placements select: listed, compared, and gone back to."""
