"""A deterministic simulation of hub, agents and members: `make simulate SEEDS=first,count`.

Three levels, one world. `model`: the product's own state machines (reconciler, applier, exchange,
sessions, judge, offers, withdrawal) over rows and members in memory. `services`: the same agents and
members before the whole hub: its services, store, scheduler and quota. `restores`: that hub's store
goes back to an older copy once, which is then accepted. What is modelled and what is not:
docs/explain/simulation.md.

| invariant | check | level |
| --- | --- | --- |
| R-01 nothing is lost | `Checks.unsettled`: at the end every job has ended | both |
| R-02 no twin | one object of a name in a member; that of submits is not held here | both |
| R-03 nothing is offered before it is placed | `memory.offer` | model |
| R-04 never two, never again | `Checks.pod_runs`, `Checks.started` | both |
| R-05 bounded double run | not offered by the product yet: not held here | - |
| R-06 fencing | late and doubled requests: what they would change shows as R-04, R-07 | both |
| R-07 a result stands | `Checks.moved`, `dropped`, `unsettled`: completed wins over every wish | both |
| R-08 a silent hub stops nothing | `Checks.deleted` | both |
| R-09 quota is exact | `Checks.moved`: what is charged, counted from the rows, never exceeds it | both |
| R-10 given back only when nothing runs | `Checks.moved` | both |
| R-11 hands off | `Checks.touched`, with a foreign Job of the same name | both |
| R-12 nothing stays behind, no wish is lost | `Checks.unsettled`, `Checks.moved` | both |
| R-13 one leader, R-14 durable answers | one process, no failing disk: not held here | - |
| R-15 a store that went back | it is told so: nothing that it gives out afterwards breaks R-04 | restores |
| R-16 gaps in watches | streams lag, break and are listed anew, each on its own | both |
| R-17 one hung cluster, R-18 poison | load and input: not held here | - |
| R-19 clocks | agents' clocks run at 0.95 to 1.05 of the world's | both |
| R-20 rollouts | one version: not held here | - |
"""
