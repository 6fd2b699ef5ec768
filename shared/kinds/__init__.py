"""Typed manifests: parse, validate, normalise to one internal shape; one module per group and version."""
