"""The types of fields, of built-in kinds and of custom ones."""
