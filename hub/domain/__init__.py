"""The rules, pure: records in, a `Plan` out. No clock, dice, SQL, HTTP, logging or Kubernetes.

Low to high: `selectors`; `fleet` and `workloads`; `quota`; `plan`; `queueing`, `placement` and
`preemption`; `admission`; `cycle`, whose `cycle.schedule` is the page everybody reads first; `whatif`.
"""
