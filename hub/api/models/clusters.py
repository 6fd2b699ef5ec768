"""Members: their state and room, and what they are declared with."""

from typing import Literal

from hub.api.models.base import Amounts, Body, Instant, Kubernetes, Labels, Model, example_of
from hub.api.models.removal import MemberRemoval
from hub.domain.workloads.states import State

ClusterState = Literal[
    "Declared", "Ready", "Cordoned", "Leaving", "Suspect", "Unhealthy", "Fenced"
]


class ResourceRoom(Model):
    """One resource of a cluster."""

    free: str
    allocatable: str
    reserved: str
    """What the hub's jobs there ask for."""


class NodePool(Model):
    """Nodes that are alike."""

    labels: Labels
    taints: list[str]
    nodes: int


class AutoscaledPool(Model):
    """Nodes that an autoscaler may add."""

    name: str
    labels: Labels
    taints: list[str]
    may_add: int
    allocatable: Amounts
    """Of one of them."""


class MemberCluster(Model):
    """A member with state, room and heartbeat."""

    name: str
    state: ClusterState
    ready: bool
    """It reports, and has said what it has."""
    reason: Literal["", "NoAnswer", "Unauthorized", "Forbidden"]
    """Why it is Unhealthy: its API server does not answer its agent, or answers 401 or 403."""
    message: str
    cordoned: bool
    labels: Labels | None
    taints: list[Kubernetes] | None
    jobs: int
    node_count: int
    kubernetes_version: str
    resources: dict[str, ResourceRoom]
    pools: list[NodePool]
    growing_pools: list[AutoscaledPool]
    properties: dict[str, str]
    property_faults: list[str]
    """What its administrator wrote of properties and can not be taken."""
    jobs_forbidden_in: list[str]
    """Namespaces in which its agent's account may not create Jobs (403): jobs of theirs go elsewhere."""
    cluster_uid: str
    agent_version: str
    """As of its session; empty where it does not say."""
    agent_protocol: int | None
    """Of those that agent and hub speak, the one they agreed on."""
    plain_http: bool
    """The agent speaks to the hub in clear from another machine (`--hub-plain-http`)."""
    client_certificate: bool
    """The agent showed a certificate."""
    created_at: Instant
    joined_at: Instant | None
    heartbeat_at: Instant | None
    capacity_at: Instant | None
    leftovers: int
    """Jobs there from before the store was restored."""


class MemberClusterList(Model):
    """All members."""

    items: list[MemberCluster]
    hub_version: str


class MemberNamespace(Model):
    """A namespace of a member that the hub has named to its agent."""

    name: str
    state: Literal[
        "Absent",
        "Created",
        "Labelled",
        "Named",
        "Continued",
        "Replaced",
        "NotAccepted",
        "Withdrawn",
        "Unknown",
    ]
    """Continued: not accepted, and the agent lets it continue. Replaced: created for an earlier namespace
    of the
    hub. Withdrawn: not accepted, and jobs are still there. Unknown: its agent has not reported it.
    """
    taken_over: bool
    """A placement took it over; it stays when the placement ends."""
    jobs: int
    queues: list[str]
    tenants: list[str]
    """Owners of the jobs there."""
    command: str
    """What the member's people enter to accept the hub; empty where that is not needed."""


class MemberNamespaceList(Model):
    """Namespaces of one member."""

    cluster: str
    reports_consent: bool
    """Its agent reports consent; those of earlier releases do not."""
    items: list[MemberNamespace]


class LeftoverJob(Model):
    """A Job in a member that the store does not have there since it was restored."""

    cluster: str
    uid: str
    object_uid: str
    epoch: int
    name: str
    """Of the Job in the member, `namespace/name`; empty until its agent has reported its manifest."""
    there: str
    """`Waiting`, `Running`, `Succeeded` or `Failed`, as the member says."""
    message: str
    seen_at: Instant
    job: str
    """What the hub has of the same uid, `namespace/name`; empty for nothing."""
    state: State | Literal[""]
    decided: Literal["", "Remove"]
    """A person's decision: its member removes it."""
    manifest: Literal["Awaited", "Reported", "TooLarge"]
    """Has its agent reported the manifest? To adopt a job that the hub does not know takes it."""


class WorkKind(Model):
    """A kind of work, and whether a member runs it."""

    api_version: str
    kind: str
    state: Literal["Served", "NotServed", "AgentTooOld", "RightMissing", "Unknown"]
    """RightMissing: it is served, and the agent's account may not list and watch it. Unknown: the agent has
    not reported which kinds its member serves.
    """
    remedy: str
    """Empty where nothing is missing, or nothing is known."""


class MemberClusterDetail(MemberCluster):
    """A member, with the kinds of work that it runs, and what was left in it."""

    work_kinds: list[WorkKind]
    """Job, then the other kinds that the hub dispatches, in order."""

    leftover_jobs: list[LeftoverJob]
    credential_expires_at: Instant | None
    """None: it has no end, or there is none."""
    hub_version: str


class DeclaredCluster(MemberClusterDetail):
    """A member that was declared just now."""

    join_token: str
    """Works once."""
    join_token_expires_at: Instant


class JoinToken(Model):
    """The registration of a member's agent."""

    name: str
    join_token: str
    """Works once."""
    join_token_expires_at: Instant


class NewCluster(Body):
    """A member to be declared."""

    model_config = example_of({"name": "east", "labels": {"region": "eu"}})

    name: str
    """A DNS label."""
    labels: Kubernetes | None = None
    taints: list[Kubernetes] | None = None
    pools: list[Kubernetes] | None = None
    """Those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster has them."""


class FenceConfirmation(Body):
    """That a member is destroyed."""

    model_config = example_of({"confirm": "east"})

    confirm: str = ""
    """The name of the member."""
    though_it_answers: bool | None = None
    """It is known that the member still answers: what runs there runs twice."""


class FencedCluster(Model):
    """A member that was written off."""

    name: str
    released: int
    """Jobs that start elsewhere."""


class CordonPreview(Model):
    """Preview of a cordon or an uncordon. Nothing was changed."""

    name: str
    carried_out: Literal[False]
    cordoned: bool
    """As it is now."""
    would_be: bool
    jobs: int
    """Jobs there, which would run on."""


class DrainRequest(Body):
    """True: only list, change nothing."""

    model_config = example_of({"dryRun": True})

    dry_run: bool | None = None
    """Say what would move, and move nothing."""


class DrainedJob(Model):
    """A job that leaves a drained member."""

    namespace: str
    name: str
    state: str


class DrainedPlacement(Model):
    """A placement with objects on a drained member."""

    kind: str
    namespace: str
    name: str
    allowed: bool
    """Whether its disruption budget lets it leave now."""
    message: str
    objects_deleted: int = 0
    """Objects there that the member's agent created: it deletes them."""
    objects_released: int = 0
    """Objects there that stay in the member, without Roadstead's marks: taken over, or to be abandoned."""
    objects_unknown: int = 0
    """Objects there of which the agent has not reported whether it created them."""


class DrainedNamespace(Model):
    """A namespace of jobs that leave a drained member, and that no other member accepts."""

    namespace: str
    job_count: int
    message: str
    """What they wait for, with the command by which a member's people accept the namespace."""


class DrainedCluster(Model):
    """What leaves a drained member: jobs at once, objects as budgets allow."""

    name: str
    carried_out: bool
    job_count: int
    jobs: list[DrainedJob]
    """At most 200 of them."""
    placements: list[DrainedPlacement]
    """At most 200 of them."""
    blocked: int
    """Placements that stay for now: ask again later."""
    members: list[MemberRemoval]
    """What leaves now, jobs and objects, and what becomes of each."""
    waiting: list[DrainedNamespace]
    """At most 200 namespaces whose jobs will wait: each other member reports NotAccepted for them."""


class LeftoverDecision(Body):
    """The member whose Job of this uid is meant."""

    model_config = example_of({"cluster": "east"})

    cluster: str = ""
    """The member that holds it; not needed where only one does."""


class LeftoverAdoption(LeftoverDecision):
    """The member whose Job of this uid is adopted, and its owner."""

    model_config = example_of({"cluster": "east", "owner": "ana"})

    owner: str = ""
    """Of a job that the hub has forgotten altogether; without it the owner is unknown."""


class DecidedLeftover(Model):
    """A Job from before the store was restored, of which has been decided."""

    uid: str
    cluster: str
    epoch: int


class Incarnation(Model):
    """The hub's name from now on."""

    incarnation: str


class HubCluster(Model):
    """The hub cluster; without one all is empty."""

    connected: bool
    """It answers, as far as is known."""
    uid: str
    running: bool
    """The bridge to it runs."""
    reason: str
    message: str
    resuming: str
    """What lifting the present stop would mean; empty where there is nothing to lift."""
    jobs: str
    """What keeps Jobs from running there: Marked, Refused, None, or Unknown."""
    jobs_message: str
    jobs_shown: str
    """How many of REST's Jobs are shown there: None, All, or Some, where there are more than may be."""
    records_shown: str
    """Of how many placements the snapshots, bindings and works are shown there: None, All, or Some."""
    mirrors: str
    """Whether users may change the mirrors of REST's objects there: Guarded, None, or Unknown."""


class ResumeReason(Body):
    """The stop of the bridge to lift."""

    model_config = example_of({"reason": "HubClusterChanged"})

    reason: str
    """As the hub cluster shows it."""
