"""Custom resources: their definitions, columns and versions."""
