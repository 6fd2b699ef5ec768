"""Reconciles the member with the desired set: examines works and executes each step."""
