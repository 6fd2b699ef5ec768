"""A deterministic simulation of hub, agents and members: `make simulate SEEDS=first,count`.

Four levels in one world; a fifth one, `tests.simulation.owners`, has a world of its own. `model`: the
product's own state machines (reconciler, applier, exchange, sessions, judge, offers, withdrawal) over rows
and members in memory. `services`: the same agents and members before the whole hub: its services, store,
scheduler and quota. `restores`: that hub's store goes back to an older copy once, which is then accepted.
`replicas`: two such hubs on one store. What is modelled and what is not: docs/explain/simulation.md; what
each invariant says: docs/reference/invariants.md.

| invariant | check | level |
| --- | --- | --- |
| R-01 nothing is lost | `Checks.unsettled`: at the end every job has ended | both |
| R-02 no twin | `Checks.looked_over`, with submissions said twice; a member's names | services |
| R-03 nothing is offered before it is placed | `memory.offer`; `Checks.looked_over` | both |
| R-04 never two, never again | `Checks.pod_runs`, `Checks.started`, `Checks.said` | both |
| R-05 bounded double run | `Losses`: not before its time, two at most, withdrawn, counted once | both |
| R-06 fencing | `Checks.answered`, `Checks.moved`, `Agent.replied` | both |
| R-07 a result stands | `Checks.moved`, `dropped`, `unsettled`: completed wins over every wish | both |
| R-08 a silent hub stops nothing | `Checks.deleted` | both |
| R-09 quota is exact | `check_charges`: all that is charged; on level services: for the pods placed | both |
| R-10 given back only when nothing runs | `Checks.moved`; `check_charges`: pods that succeeded | both |
| R-11 hands off | `Checks.touched`, with foreign Jobs of the same name, early and late | both |
| R-12 nothing stays behind, no wish is lost | `Checks.unsettled`, `Checks.moved` | both |
| R-13 one leader | `Whole._old_leader`: an earlier leader takes a turn, and writes nothing | whole hubs |
| R-14 durable answers | no disks: tests/e2e/test_kills.py, tests/store/test_full_disk.py | - |
| R-15 a store that went back | noticed: `Checks.offered`, `ordered`, `touched` | model |
| | accepted: nothing that people release without a look breaks R-04 or R-07 | restores |
| | `LostTime._not_beside_itself`; members silent for an hour, or with too many Jobs | restores |
| | `HubCluster._hear`: nothing but a person's `spec.active` holds or releases (R-12) | restores |
| R-16 gaps in watches | streams lag, break and are listed anew, each on its own | both |
| R-17 one hung cluster | no load: tests/e2e/test_hanging_member.py | - |
| R-18 poison | webhooks that refuse; hostile input: tests/bad_inputs, tests/attack | both |
| R-19 clocks | agents' clocks run at 0.95 to 1.05 of the world's, up to an hour off | both |
| R-20 rollouts | one version: tests/store/test_migrations.py, test_old_databases.py | - |
| R-21 chains | `Chain`: placed after the others have ended as asked, and not forgotten | whole hubs |
| R-25 times of CronJobs | `CronTime`: one job of one time, and one at the end | whole hubs |
| R-22 consent | `Consents.placed`, `SpaceWatch.check`; at the end nothing waits for it | services |
| | `Consents.placed`: not where the agent may create no Job, as it has reported | services |
| | `Checks.deleted`: of what waits in a queue of a member, nothing that ran goes by it | services |
"""
