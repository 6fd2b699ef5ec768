"""The member-cluster side: holds in one cluster what the hub desires, and tells what it sees.

Decided without input or output: `objects` (what can be read from one object), `decide` (what to do next
about one work), `works` (what is remembered of each). With effects: `member` (its API server), `reconcile`
(the order of checks, and each step), `hub` (the sync), `main` (put together). The agent
dials out only, and continues to enforce its orders while the hub is away.
"""
