"""Workloads as Kueue's API shows them, and admission checks as outsiders see them."""
