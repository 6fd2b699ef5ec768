"""Applying and deleting everything that is not a job; members as objects."""
