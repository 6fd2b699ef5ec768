"""The pure engine on files: manifests in, decisions out. No hub, no store, no cluster.

`documents` reads files, `scene` makes records of them, `cycle` lets `hub.domain.cycle.rounds` decide, and
`report` puts the decisions into the fixed JSON shape of `roadstead simulate cycle`.
"""
