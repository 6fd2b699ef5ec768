"""The only speaker of the Kubernetes API, for simulated and real clusters alike.

`client.KubeClient` makes single requests on kubernetes-asyncio's authenticated session with raw JSON
bytes; `informer.Informer` keeps a cache level with the server; `discovery` finds where a kind lives;
`errors` names what can go wrong. Nothing else in the repository talks to an API server.
"""
