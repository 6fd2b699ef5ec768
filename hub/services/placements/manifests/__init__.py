"""Manifests that placements show and write: what clusters would get, copies of statuses."""
