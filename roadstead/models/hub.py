"""The hub itself: its figures, people, change feed and hub cluster."""

import datetime as dt

from roadstead.models.clusters import LeftObject, Leftover, Room
from roadstead.models.objects import Condition
from roadstead.models.record import Json, Record, record_field
from roadstead.models.removal import MemberRemoval


class ClusterRoom(Record):
    """A member's state and capacity."""

    name: str
    state: str
    resources: dict[str, Room] = record_field(default_factory=dict)


class Overview(Record):
    """Counts by state, and the members' capacity; `revision` is the start for following changes."""

    jobs: dict[str, int]
    clusters: dict[str, int]
    room: tuple[ClusterRoom, ...] = ()
    queues: int = 0
    revision: int
    conditions: tuple[Condition, ...] = ()
    hub_id: str = ""


class Change(Record):
    """The changes of one commit: keys of one kind."""

    revision: int
    kind: str
    keys: tuple[str, ...] = ()
    at: dt.datetime | None = None


class WorkloadState(Record):
    """The state of a workload, as executors receive it."""

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
    """A holder of a token: role and name, and a user's groups."""

    role: str
    name: str
    created_at: dt.datetime | None = None
    groups: tuple[str, ...] = ()


class IssuedToken(Person):
    """A person's new token, shown only once."""

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
    """Why the hub pauses after a rollback of its store, and the leftovers from before."""

    stopped: str = ""
    awaited: tuple[str, ...] = ()
    owing: tuple[str, ...] = ()
    lacking: dict[str, str] = record_field(default_factory=dict)
    items: tuple[Leftover, ...] = ()
    objects: tuple[LeftObject, ...] = ()


class KeptTable(Record):
    """Size, age and retention of one table; `bound`: what limits its growth."""

    table: str
    rows: int
    oldest: dt.datetime | None = None
    kept_seconds: int | None = None
    bound: str = ""


class Kept(Record):
    """Retention, table by table."""

    items: tuple[KeptTable, ...] = ()


class Removed(Record):
    """Deleted rows, by step of the retention."""

    removed: dict[str, int] = record_field(default_factory=dict)


class AvailabilityRule(Record):
    """Availability rule of one kind: expressions; `message`: the text if it is not available."""

    group: str
    kind: str
    available: str
    message: str = ""


class AvailabilityRules(Record):
    """The declared rules with their revision, and the built-in ones."""

    revision: int
    rules: tuple[AvailabilityRule, ...] = ()
    built_in: tuple[AvailabilityRule, ...] = ()


class KindVersion(Record):
    """One version of a kind that an administrator defined. `lacking`: what it needs to be dispatched."""

    name: str
    version: int
    api_version: str
    kind: str
    current: bool
    created_at: dt.datetime
    jobs: int = 0
    lacking: tuple[str, ...] = ()


class CheckedKind(Record):
    """The content of a definition, and its change; `present` and `next`: versions as NAME@VERSION."""

    name: str
    api_version: str
    kind: str
    suspend_path: str | None = None
    states: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    present: str = ""
    next: str = ""
    waiting: int = 0
    placed: int = 0


class KindVersions(Record):
    """Versions of the kinds that administrators defined."""

    items: tuple[KindVersion, ...] = ()


class CheckedKinds(Record):
    """A dry run of definitions, and the sample objects as they would be read."""

    kinds: tuple[CheckedKind, ...] = ()
    objects: tuple[Json, ...] = ()


class Decided(Record):
    """A decided Job from before the restore."""

    uid: str
    cluster: str
    epoch: int = 0


class Undecided(Record):
    """A member about whose objects the decision cannot be made."""

    cluster: str
    message: str


class DecidedObjects(Record):
    """Objects about which an administrator decided (`carried_out` false: would); `members`: the effects."""

    decision: str
    carried_out: bool
    count: int = 0
    more: bool = False
    members: tuple[MemberRemoval, ...] = ()
    refused: tuple[Undecided, ...] = ()


class Incarnation(Record):
    """The current incarnation of the hub's store."""

    incarnation: str
