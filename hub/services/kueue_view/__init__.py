"""Workloads as Kueue's API shows them."""
