"""Use cases: one function, one transaction, one sentence."""
