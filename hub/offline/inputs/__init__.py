"""Reads files, manifests and settings, into the records of a scene."""
