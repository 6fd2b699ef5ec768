"""Manifests that placements open, show and write: envelopes, what clusters would get, copies of statuses."""
