"""The member-cluster side: holds in one cluster what the hub desires, and tells what it sees.

Decided without input or output: `objects` (what can be read from one object), `decide` (what to do next
about one work), `works` (what is remembered of each). With effects: `member` (its API server),
`reconcile` (what is looked at when, and each step), `hub` (the sync), `main` (put together). The agent
dials out only, and goes on enforcing what it has while the hub is away.
"""
