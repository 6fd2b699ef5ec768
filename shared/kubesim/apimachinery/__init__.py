"""Common parts: kinds, metadata, selectors, refusals, columns."""
