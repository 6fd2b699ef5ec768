"""Verdicts on a report's entry for its work, in parts."""
