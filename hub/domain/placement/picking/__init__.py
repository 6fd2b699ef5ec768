"""Picking clusters for equal workloads: one by one, and in runs."""
