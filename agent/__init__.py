"""The member-cluster side: holds in one cluster what the hub desires, and tells what it sees.

Pure: `plan` (what to do about one work), `status`, `drift` and `ownership`, `waves`, `pods`,
`capacity`, `holdings` (desired and observed sets). Effects: `applier` (writes to the member),
`observer` (its caches), `hub` (the wire), `reconcile` and `loop` (what runs when), `main` (put
together). The agent dials out only, and goes on enforcing what it has while the hub is away.
"""
