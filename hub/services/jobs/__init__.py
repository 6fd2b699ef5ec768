"""Accepting, changing and stopping workloads."""
