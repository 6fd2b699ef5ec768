"""The pure engine on files: manifests in, decisions out. No hub, no store, no cluster.

`inputs` makes records of files, `loads` says who arrives when, `play` lets `hub.domain.cycle.rounds` decide,
and `reports` puts what was decided into the fixed JSON shapes of `roadstead simulate`, and on a page.
"""
