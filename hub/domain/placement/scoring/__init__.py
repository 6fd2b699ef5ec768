"""Scores of clusters: preferences, balance, backlog, pace, ties."""
