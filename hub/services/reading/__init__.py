"""Inputs, parsed and checked before any transaction: drafts, answers, statuses, reports."""
