"""The simulated cluster: a Kubernetes API server and the controllers behind it, in one process.

Layers, lowest first: `errors`, `registry` and `objects` (what exists, in memory), `strategies` and
`validation` (what may be written), `patch`, `managed` and `apply` (how it is changed), `wire`,
`watch`, `tables`, `discovery` and `openapi` (how it is shown), `server` (HTTP), `journal` (what
outlasts a restart), and `cluster` (the composition root). The behaviours (nodes, binder, Job
controller) stand beside the server and use the store alone.
"""
