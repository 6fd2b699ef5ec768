"""Quota: declared, charged and held amounts; queues, the cohort tree, the ledger, shares, history."""
