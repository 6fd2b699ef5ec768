"""The rules, pure: records in, a `Plan` out. No clock, dice, SQL, HTTP, logging or Kubernetes.

Layers, low to high: nouns (`workload`, `fleet`, `quota`, `plan`), rules (`queueing`, `placement`,
`ladder`), and `cycle.schedule`, the page everybody reads first.
"""
