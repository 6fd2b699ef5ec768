"""PATCH in its four kinds, and who owns which field."""
