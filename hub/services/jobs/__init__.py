"""Accepting, changing, holding and ending workloads."""
