"""Queue order: lanes of equal workloads, pending ones, and requeueing of rejected ones."""
