"""Requests of workloads: shapes, demands, states and transitions, admission checks, placement policies."""
