"""Queries and commands of the bridge to the hub cluster."""
