"""Rollout of a change to clusters: some at a time, each with its overrides applied. Pure."""
