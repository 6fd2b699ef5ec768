"""Messages between hub and agent: one level-based exchange, `POST /agent/v1/sync`.

The agent says what it observes, the hub answers what the cluster should hold. Both directions are
deltas guarded by a digest; a full set goes over at session start, on mismatch and every ten minutes.
A lost, doubled or reordered message delays work, no more (docs/explain/exactly-once.md). Counters:
`incarnation` (hub store rolled back), `term` (paused leader), `session`+`seq` (replays), `epoch`.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.wire.availability_rules import AvailabilityRules
from shared.wire.consent import ConsentReport, NamedNamespaces
from shared.wire.kind_rules import KindDefinitions, KindRule
from shared.wire.left_objects import LeftObject, UnreadKinds
from shared.wire.versions import OLDEST

SYNC_PATH = "/agent/v1/sync"
REGISTER_PATH = "/agent/v1/register"
CA_PATH = "/agent/v1/ca"

SUSPECT_AFTER_S = 45.0  # a cluster silent for this long gets no new work
# An agent starts Jobs only within this lease, counted from when it SENT its last answered request. A new
# session concludes nothing from absence before the lease of any earlier one is over, counted from when
# its first answer CAME, with a tenth for clocks of unequal speed.
LEASE_S, LEASE_MARGIN = 30.0, 1.1
FULL_EVERY_S = 600.0
MAX_WORKS_PER_REPLY, MAX_OBSERVED_PER_REQUEST = 1000, 2000
MAX_MARKS, MOST_FORBIDDEN = 64, 200
MOST_POD_NODES = 20_000  # pairs of work and node in one report; of works beyond, no nodes are told
DIFF_REPORTED = "DiffReported"  # reason of what was compared: `drift` is how it differs
MOST_UID_CHARS = 128  # of an object: an API server gives 36

# A whole number that the hub can keep. Some come from what anybody may write on objects of a member.
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]  # int32, as of a Job's pods


class Message(BaseModel):
    """What a newer release says besides is ignored; what an older one does not say has a default."""

    model_config = ConfigDict(extra="ignore")


class Register(Message):
    """Sent once, with the join token as bearer; binds the credential to the cluster's identity."""

    cluster_uid: str = Field(min_length=1, max_length=253)  # uid of namespace kube-system
    agent_version: str = ""
    kubernetes_version: str = ""
    cluster: Any = None  # told by the credential; whoever says it must say the same
    # Protocol 2: SHA-256 of the secret that the agent has made for itself, in hexadecimal digits.
    secret_hash: str = Field(default="", pattern="^([0-9a-f]{64})?$")


class HubAuthority(Message):
    """The CA that the hub's certificate is signed by: anybody may know, and nobody believes it unpinned."""

    ca: str  # PEM


class Registered(Message):
    """The agent's identity from now on. `credential` is shown once: `id.secret`.

    In answer to a `secret_hash` there is the `credential_id` alone; the secret is the agent's own.
    """

    cluster: str
    credential: str = ""
    credential_id: str = ""
    hub_id: str
    incarnation: str


Action = Literal["Apply", "Keep", "Withdraw", "Compare"]
"""Apply: hold the manifest. Keep: a finished Job: never create it, delete it `ttl_s` after its end; of
any other object, abandon it: it stays, without our marks and ownership, and is Gone to us (protocol 3).
Withdraw: delete it (foreground) and report Gone when the object and its pods are gone. Compare: write
nothing, and say how the object differs from the manifest (protocol 3)."""


class Work(Message):
    """What one cluster should hold of one object: a Job's placement (epoch ≥ 1) or an object (epoch 0)."""

    uid: str  # of the job, or of the hub's object
    epoch: int
    generation: int
    action: Action
    api_version: str
    kind: str
    namespace: str  # "" for cluster-scoped
    name: str
    hash: str  # of the manifest and its apply options; "" for Withdraw
    manifest: dict[str, Any] | None = None  # given with action Apply
    when_to_apply: Literal["Always", "IfNotDrifted"] = "Always"
    when_to_take_over: Literal["IfNoDiff", "Always", "Never"] = "IfNoDiff"
    # Protocol 3. `force`: over fields of others, always or never; None: over an object that is ours.
    force: bool | None = None
    co_ownership: bool = True  # whether an object may have owners of its own in the member
    compare_all: bool = False  # also what the manifest does not name
    restore: bool = False  # this very version is written over drift, whatever `when_to_apply` says
    ignore_drift: list[str] = []  # JSON pointers from annotation roadstead.dev/ignore-drift
    placed_by: str = ""  # placement or queue that chose this cluster
    ttl_s: int | None = None  # Jobs: their own ttlSecondsAfterFinished, withheld from the member
    seen: bool = False  # the hub was told that this epoch exists in the member: never create again
    report_status: bool = False  # objects: tell the status as it is, too
    fresh: bool = False  # first offered in this very session: no earlier one can have started it
    namespace_id: str | None = None  # of the hub's namespace; None: a hub that does not tell it
    kind_rule: KindRule | None = None  # protocol 7; None: a Job, or an object
    object_uid: str = Field(default="", max_length=MOST_UID_CHARS)  # protocol 7: no other object

    def digest_line(self) -> str:
        """The line whose hash enters the digest of the desired set."""
        return desired_line(self.uid, self.epoch, self.generation, self.action, self.hash)


def told_hash(action: str, of_work: str) -> str:
    """The hash as it is sent: "" for Withdraw; that of a Compare is none of a Keep's."""
    if action == "Withdraw":
        return ""
    return f"{of_work}~" if action == "Compare" else of_work


def desired_line(uid: str, epoch: int, generation: int, action: str, told: str) -> str:
    """A work's line in the digest of the desired set. `told`: its hash as it is sent.

    Agents of before are told Keep in place of Compare, and both have the same line.
    """
    return f"{uid}:{epoch}:{generation}:{'Keep' if action == 'Compare' else action}:{told}"


class Pools(Message):
    """Node label keys that the hub wants nodes grouped by; `revision` grows when the keys change."""

    revision: int
    keys: list[str]


class Taint(Message):
    key: str
    value: str = ""
    effect: str


class NodeFree(Message):
    """One node: amounts in the order of `Pool.resources`; exact ints (cpu milli, else base units)."""

    name: str
    allocatable: list[Whole]
    free: list[Whole]  # allocatable minus requests of bound, non-terminal pods; may be negative


class Pool(Message):
    """Schedulable, ready nodes that agree in the pool keys' labels and in their taints."""

    labels: dict[str, str]
    taints: list[Taint] = []
    resources: list[str]
    nodes: list[NodeFree]
    unusable: Whole = 0  # nodes alike that are not ready or cordoned


class GrowingPool(Message):
    """An autoscaled pool, as its nodes' labels `roadstead.dev/pool` and `…/pool-max-nodes` say."""

    name: str
    max_nodes: Whole
    nodes: Whole  # that are there, ready or not
    labels: dict[str, str]  # of the keys that pools are grouped by
    taints: list[Taint] = []
    resources: list[str]
    shape: list[Whole]  # allocatable of one node, in the order of `resources`


class Bound(Message):
    """Pods of one work, from the same cache snapshot as the pools' free vectors."""

    uid: str
    epoch: Whole
    bound: Whole  # on a node and not terminal, terminating ones included
    succeeded: Whole
    # Protocol 6: on which nodes that a pool lists. Number of a node, counted through all pools, pods there, …
    nodes: list[Whole] | None = None  # None: not told


DownCause = Literal["NoAnswer", "Unauthorized", "Forbidden"]


class ApiServerDown(Message):
    """The member's API server does not answer its agent, or refuses its credential (see `cause`)."""

    reason: str = Field(max_length=300)
    cause: DownCause = "NoAnswer"  # Unauthorized: 401; Forbidden: 403 to the agent's probe
    down_s: float = Field(ge=0, le=1e9, allow_inf_nan=False)  # when reported


class CreateAnswers(Message):
    """Answers of the member's API server to the agent's creates of Jobs, in one period."""

    period: Whole  # its number in the session
    answered: Whole  # in time
    overloaded: Whole  # 429, 5xx, late, or without an answer


class Capacity(Message):
    """What the cluster has, as of one snapshot of the agent's cache."""

    pools_revision: Whole  # revision of the keys the pools are grouped by
    pools: list[Pool]
    bound: list[Bound]
    node_count: Whole = 0
    kubernetes_version: str = ""
    growing: list[GrowingPool] = []
    properties: dict[str, str] = {}  # further properties: name → quantity text
    property_faults: list[str] = []  # what its administrator wrote of them and can not be taken
    queue_managers: list[str] = []  # "namespace/name" of LocalQueues that a queue manager serves
    stopped_queues: list[str] = []  # those that the cluster's people have stopped
    kinds: list[str] | None = None  # "apiVersion/Kind" served there; None = unchanged
    api_server: ApiServerDown | None = None  # None: it answers, or the agent does not look
    consent: ConsentReport | None = None  # None: unchanged
    creates: CreateAnswers | None = None  # None: no overload in the last minute, or an older agent
    jobs_forbidden_in: list[str] | None = []  # namespaces; None: not known yet
    unread_kinds: list[str] = []  # served "apiVersion/Kind" of jobs that it may not list


class Drift(Message):
    """One desired path that no longer holds (JSON pointer). Values are JSON texts, secrets redacted."""

    path: str
    hub: str | None = None
    member: str | None = None
    first_seen: str  # RFC3339


Phase = Literal[
    "Waiting",  # accepted by the agent, not in the cluster yet (wave, lease, earlier epoch going)
    "Applied",  # the object is there as desired (a Job: created)
    "Gone",  # nothing of it runs or can start; `job` says how it ended
    "Missing",  # was there once, is absent, and is not created again
    "Failed",  # could not be applied: see reason and message
]


class JobStatus(Message):
    """A member Job's own status, as its controller wrote it."""

    suspended: bool = False
    active: Count = 0
    ready: Count = 0
    terminating: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    start_time: str | None = None
    completion_time: str | None = None
    completed_indexes: str | None = None
    failed_indexes: str | None = None
    running_since: str | None = None  # first time a pod was seen running
    result: Literal["Succeeded", "Failed"] | None = None  # terminal
    reason: str = ""  # of the terminal condition, or why pods do not run (ImagePullBackOff …)
    message: str = ""
    held_by: str = ""  # field manager that keeps the Job suspended although it should run
    failures: list[str] | None = None  # with a failure, CODE/REASON each; None: the agent is older


class Observed(Message):
    """What the agent sees of one work. Entries are re-sent until a reply acknowledges them."""

    uid: str
    epoch: int
    generation: Whole
    seq: Whole  # grows per session with each change of this or any entry
    phase: Phase
    object_uid: str = Field(default="", max_length=MOST_UID_CHARS)
    created: bool | None = None  # by this hub's agent, or taken over; None: not told, or a Job
    reason: str = ""  # NameConflict, KindNotServed, ApplyFailed, FoundDrifts, … when Failed
    message: str = ""
    job: JobStatus | None = None
    available: bool | None = None  # None: not trackable for this kind
    member_generation: Whole = 0
    status: dict[str, Any] | None = None  # of the object, where the work asks for it
    drift: list[Drift] = []
    incarnation: str = ""  # of something not desired: the hub's incarnation that gave it
    manifest: dict[str, Any] | None = None  # of a Job that is to be left alone, where known
    namespace_id: str = Field(default="", max_length=64)  # … and that of its namespace
    unstarted: bool = False  # of a Gone: proven that nothing of the epoch ever started, or will
    found_epoch: int = 0  # with NewerEpoch: of the Job that is there; 0: the agent is older
    left: LeftObject | None = None  # of an object, no Job, that is not desired

    def digest_line(self) -> str:
        """The line whose hash enters the digest of the observed set."""
        return f"{self.uid}:{self.epoch}:{self.seq}"


class Mark(Message):
    """How far the hub's store had come, as one start of the hub counted: `run` names the start.

    A hub whose store does not hold a mark that it once gave out has gone back to an older copy.
    """

    run: str = Field(max_length=64)
    revision: Whole = Field(ge=0)
    proof: str = Field(max_length=64)  # that this hub made it


class DesiredBase(Message):
    """The desired set the agent holds: 0 and the empty digest before the first reply."""

    revision: Whole = 0
    digest: str = ""


class ObservedSet(Message):
    """Changes since the last acknowledged request, or the whole set. `digest` is of the whole set."""

    full: bool = False
    digest: str = ""
    entries: list[Observed] = []
    more: bool = False  # further entries follow: the digest is not of what has been sent so far


class SyncRequest(Message):
    """`wait_s` > 0 lets the hub hold the request until there is news, at most that long."""

    proto: int = OLDEST
    cluster: Any = None  # told by the credential; whoever says it must say the same
    session: str = Field(min_length=8, max_length=64)
    follows: str = Field(default="", max_length=64)  # latest `SyncReply.confirm` of this session
    seq: Whole = Field(ge=1)
    cluster_uid: str
    incarnation_seen: str = ""
    marks: list[Mark] = Field(default=[], max_length=MAX_MARKS)
    wait_s: float = Field(default=0, ge=0, le=60)
    desired: DesiredBase = DesiredBase()
    observed: ObservedSet = ObservedSet()
    jobs_read: bool = False  # past the caches, and `observed` holds all of them
    kinds_unread: UnreadKinds | None = None  # protocol 7: … but of these kinds; None: not told
    capacity: Capacity | None = None  # None: unchanged since the last acknowledged one
    availability: Whole | None = None  # by header: revision of its rules; None: it knows of none
    namespaces_held: Whole | None = None  # by header too; None: reports no consent
    namespace_ids_held: bool | None = None  # were their ids told, too? None: it knows of none
    kinds_held: Whole | None = None  # by header: revision of its definitions; None: no kinds


class Desired(Message):
    """The hub's answer: the whole set, or what changed since `DesiredBase.revision`."""

    full: bool = False
    revision: int = 0
    digest: str = ""  # of the whole set after this delta; meaningless while `more`
    works: list[Work] = []
    removed: list[str] = []  # uids no longer desired and already gone
    more: bool = False  # ask again at once


class Refused(Message):
    """One observed entry the hub did not take; the others of the request are stored."""

    uid: str
    code: str
    detail: str


class Order(Message):
    """What to do with something reported that the hub does not want: exactly the object of this uid."""

    uid: str
    object_uid: str
    action: Literal["Remove", "Quarantine"]  # Quarantine: leave it alone, an operator decides


class Rotate(Message):
    """A new credential `id.secret`: to be saved, then used. The first use of it ends the one before."""

    credential: str
    ca: str = ""  # PEM of the hub's CA as it now is; "": none of its own


class SyncReply(Message):
    """A reply is applied only if it answers the newest request of the live session."""

    proto: int = OLDEST
    hub_id: str
    incarnation: str
    term: int
    session: str
    seq: int  # of the request answered
    desired: Desired
    pool_keys: Pools
    refused: list[Refused] = []
    orders: list[Order] = []
    mark: Mark | None = None
    rotate: Rotate | None = None  # protocol 2
    availability: AvailabilityRules | None = None  # where the agent goes by others
    namespaces: NamedNamespaces | None = None  # where the agent holds others
    kinds: KindDefinitions | None = None  # where the agent holds others (protocol 7)
    # Nothing of the request was taken: another session is live. Say this as `follows` to supersede it.
    confirm: str = ""
    need_full: bool = False  # send the whole observed set (and capacity) next
    next_s: float = 10.0
