"""How good each cluster is: preferences, balance, backlog, pace, ties."""
