"""Member clusters: state, capacity, and join tokens for agents."""

import datetime as dt

from roadstead.models.record import Json, Record, record_field
from roadstead.models.removal import MemberRemoval


class Room(Record):
    """One resource of a member, as quantities."""

    free: str = "0"
    allocatable: str = "0"
    reserved: str = "0"


class Pool(Record):
    """Equal nodes of a member."""

    labels: dict[str, str] = record_field(default_factory=dict)
    taints: tuple[str, ...] = ()
    nodes: int = 0


class GrowingPool(Record):
    """Nodes that a member's autoscaler may add; `allocatable` is that of one node."""

    name: str
    labels: dict[str, str] = record_field(default_factory=dict)
    taints: tuple[str, ...] = ()
    may_add: int = 0
    allocatable: dict[str, str] = record_field(default_factory=dict)


class Leftover(Record):
    """A Job on a member from before the hub's store rolled back."""

    cluster: str = ""
    uid: str
    object_uid: str = ""
    epoch: int = 0
    name: str = ""  # of the Job there, namespace/name, where its agent has reported it
    there: str = ""
    message: str = ""
    job: str = ""
    state: str = ""
    decided: str = ""
    manifest: str = ""  # "Reported" once the hub can adopt a job that it does not know
    seen_at: dt.datetime | None = None


class LeftObject(Record):
    """An object on a member, no Job, that this hub wrote and does not know any more.

    `known`: the hub has the object that it was made for; `message`: how far what is `decided` has come.
    """

    cluster: str
    uid: str = ""
    object_uid: str = ""
    api_version: str = ""
    kind: str
    namespace: str = ""
    name: str
    created: bool = False
    placed_by: str = ""
    known: bool = False
    decided: str = ""
    message: str = ""
    since: dt.datetime | None = None
    seen_at: dt.datetime | None = None


class MemberNamespace(Record):
    """A namespace of a member, its consent, and its jobs. `command` accepts the hub in it."""

    name: str
    state: str
    taken_over: bool = False
    jobs: int = 0
    queues: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    command: str = ""


class WorkKind(Record):
    """A kind of work in a member: Served, NotServed, AgentTooOld, RightMissing, or Unknown."""

    api_version: str
    kind: str
    state: str
    remedy: str = ""


class Cluster(Record):
    """A member. `state` is Declared, Ready, Cordoned, Leaving, Suspect, Unhealthy or Fenced."""

    name: str
    state: str
    ready: bool = False
    reason: str = ""
    message: str = ""
    cordoned: bool = False
    labels: dict[str, str] = record_field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    jobs: int = 0
    node_count: int = 0
    kubernetes_version: str = ""
    resources: dict[str, Room] = record_field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    growing_pools: tuple[GrowingPool, ...] = ()
    properties: dict[str, str] = record_field(default_factory=dict)
    property_faults: tuple[str, ...] = ()
    jobs_forbidden_in: tuple[str, ...] = ()
    cluster_uid: str = ""
    agent_version: str = ""
    agent_protocol: int | None = None
    plain_http: bool = False
    client_certificate: bool = False
    created_at: dt.datetime | None = None
    joined_at: dt.datetime | None = None
    heartbeat_at: dt.datetime | None = None
    capacity_at: dt.datetime | None = None
    leftovers: int = 0
    work_kinds: tuple[WorkKind, ...] = ()  # from here on: only of a single member
    leftover_jobs: tuple[Leftover, ...] = ()
    credential_expires_at: dt.datetime | None = None
    hub_version: str = ""


class JoinToken(Record):
    """A token that joins one agent as the member `name`, once, until it expires."""

    name: str
    join_token: str = record_field(repr=False)
    join_token_expires_at: dt.datetime


class DeclaredCluster(Cluster, JoinToken):
    """A member just declared, with the token for its agent."""


class CordonPreview(Record):
    """Preview of a cordon or an uncordon: nothing was changed. `jobs` there would run on."""

    name: str
    carried_out: bool = False
    cordoned: bool
    would_be: bool
    jobs: int = 0


class DrainedJob(Record):
    """A job that leaves a drained member."""

    namespace: str
    name: str
    state: str


class DrainedPlacement(Record):
    """A placement with objects on a drained member, and whether its budget lets it leave now.

    `objects_deleted`: created by the member's agent; `objects_released`: they stay there, without our
    marks.
    """

    kind: str
    namespace: str
    name: str
    allowed: bool
    message: str
    objects_deleted: int = 0
    objects_released: int = 0
    objects_unknown: int = 0


class DrainedNamespace(Record):
    """A namespace of jobs that leave a drained member, and that no other member accepts."""

    namespace: str
    job_count: int
    message: str = ""


class Drained(Record):
    """Jobs and objects that leave a drained member; `blocked` placements stay. `members`: the effects.

    `waiting`: namespaces whose jobs will wait, because no other member accepts them.
    """

    name: str
    carried_out: bool
    job_count: int = 0
    jobs: tuple[DrainedJob, ...] = ()
    placements: tuple[DrainedPlacement, ...] = ()
    blocked: int = 0
    members: tuple[MemberRemoval, ...] = ()
    waiting: tuple[DrainedNamespace, ...] = ()


class Fenced(Record):
    """A fenced member, and the number of requeued jobs."""

    name: str
    released: int = 0
