"""The hub itself: its figures, its people, its feed of changes, the cluster it is bridged to."""

import datetime as dt

from roadstead.models.clusters import Leftover, Room
from roadstead.models.objects import Condition
from roadstead.models.record import Record, record_field


class ClusterRoom(Record):
    """A member's state and room."""

    name: str
    state: str
    resources: dict[str, Room] = record_field(default_factory=dict)


class Overview(Record):
    """Counts by state, and the members' room; `revision` is where following may begin."""

    jobs: dict[str, int]
    clusters: dict[str, int]
    room: tuple[ClusterRoom, ...] = ()
    queues: int = 0
    revision: int
    conditions: tuple[Condition, ...] = ()
    hub_id: str = ""


class Change(Record):
    """What one commit touched: keys of one kind."""

    revision: int
    kind: str
    keys: tuple[str, ...] = ()
    at: dt.datetime | None = None


class WorkloadState(Record):
    """How a workload stands, as executors are told."""

    uid: str
    kind: str = ""
    namespace: str
    name: str
    queue: str = ""
    cluster_queue: str = ""
    state: str
    reason: str = ""
    cluster: str = ""
    epoch: int = 0

    @property
    def full_name(self) -> str:
        """Its `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Person(Record):
    """Who may come in: role and name, and of users their groups."""

    role: str
    name: str
    created_at: dt.datetime | None = None
    groups: tuple[str, ...] = ()


class IssuedToken(Person):
    """A person's new token, shown this once."""

    token: str = record_field(repr=False)


class HubCluster(Record):
    """Whether the bridge to the hub cluster runs, and why it has stopped."""

    connected: bool
    uid: str = ""
    running: bool = False
    reason: str = ""
    message: str = ""
    resuming: str = ""
    jobs: str = ""
    jobs_message: str = ""
    jobs_shown: str = ""
    records_shown: str = ""
    mirrors: str = ""


class Restored(Record):
    """Why nothing is dispatched since the hub's store went back, and what is left from before."""

    stopped: str = ""
    awaited: tuple[str, ...] = ()
    items: tuple[Leftover, ...] = ()


class KeptTable(Record):
    """How much one table holds, since when, and for how long; `bound`: what keeps it from growing."""

    table: str
    rows: int
    oldest: dt.datetime | None = None
    kept_seconds: int | None = None
    bound: str = ""


class Kept(Record):
    """What the hub keeps, table by table."""

    items: tuple[KeptTable, ...] = ()


class Removed(Record):
    """What was taken away, by step of the retention."""

    removed: dict[str, int] = record_field(default_factory=dict)


class AvailabilityRule(Record):
    """When objects of one kind are available: expressions; `message`: what is said where they are not."""

    group: str
    kind: str
    available: str
    message: str = ""


class AvailabilityRules(Record):
    """What is declared, in which revision, and what is built in."""

    revision: int
    rules: tuple[AvailabilityRule, ...] = ()
    built_in: tuple[AvailabilityRule, ...] = ()


class Decided(Record):
    """A Job from before the store was restored, of which has been decided."""

    uid: str
    cluster: str
    epoch: int = 0


class Incarnation(Record):
    """Which life of the hub's store counts from now on."""

    incarnation: str
