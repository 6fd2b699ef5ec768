"""Level `owners`: three owners of one member's objects, before whole agents and a whole hub in virtual time.

Hub, agents and API servers are the product's own, in one event loop whose time is virtual. Every request
passes through `wire`, which checks, delays, loses and counts it. `ledger` keeps who created each object and
who wrote each of its fields, by the token of the request, and judges by that what the agents do.

| invariant | check |
| --- | --- |
| O-1 foreign objects are deleted never, changed with consent and by a take-over rule | `Ledger.written` |
| O-2 nothing is created in a namespace that accepts no hub; consent is never written | `Ledger.written` |
| O-3 no value of a foreign object leaves its member without consent | `HubSide.sent`: the bytes to the hub |
| O-5 a Job of a namespace that was made again is where none of the one before were | `Ledger._created` |
| O-4 nothing created by the hub is left behind, and what is released loses its marks | `Ledger.left_behind` |
"""
