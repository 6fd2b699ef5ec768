"""Benchmarks: each prints a table for people and, last, one JSON object for scripts."""
