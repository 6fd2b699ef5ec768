"""Plans: where documents would go if applied now."""

from hub.api.models.base import Body, Kubernetes, Model, example_of
from hub.api.models.objects import EnvelopeName
from hub.api.models.removal import MemberRemoval


class PlannedResource(Model):
    """Something that a placement would select, of the documents or of the hub."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str


class PlannedCluster(Model):
    """A member, and what would become of it: scores where it competed, else why it may not."""

    name: str
    selected: bool
    affinity_score: int
    topology_spread_score: int
    message: str


class PlannedManifest(Model):
    """One object as a member would get it."""

    cluster: str
    api_version: str
    kind: str
    namespace: str
    name: str
    envelope: EnvelopeName | None
    overrides: list[str]
    """Those that made it so, in their order."""
    manifest: Kubernetes
    """Without what Roadstead writes on it; of Secrets marks stand for values."""


class PlannedFault(Model):
    """An object that a member would not get, and the reason."""

    cluster: str
    """Empty: no member would get it."""
    message: str


class PlannedPlacement(Model):
    """A placement of the documents."""

    kind: str
    namespace: str
    name: str
    selected: list[PlannedResource]
    """At most 100."""
    selected_count: int
    fulfilled: bool
    """As many clusters as it wants were found."""
    reason: str
    message: str
    clusters: list[PlannedCluster]
    """Best first: picked, competing, refused; at most 200."""
    members: list[MemberRemoval]
    """What members lose of what the placement has there now, once it is applied."""
    manifests: list[PlannedManifest] | None
    """What the picked ones would get, Jobs aside; null where it was not asked for. At most 500, of 2 MiB."""
    faults: list[PlannedFault]
    manifests_left: int
    """For which there was no room: ask for one cluster."""


class JobStand(Model):
    """A member, and whether it could hold the Job now."""

    name: str
    fits: bool
    score: int | None
    """None where it could not."""
    message: str
    """What the score is made of, or why it can not."""


class PlannedJob(Model):
    """A Job of the documents, evaluated alone."""

    kind: str
    """Job, or another kind that is dispatched."""
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    priority: int
    admitted: bool
    """There are quota and room now."""
    cluster: str
    """Where it would go."""
    reason: str
    message: str
    waiting_before: int
    """Workloads of its ClusterQueue that come before it."""
    preempts: int
    """Workloads that would have to go for it."""
    clusters: list[JobStand]
    """Best first; at most 200."""


class FoundPlan(Model):
    """Placements and Jobs of the documents, in their order."""

    placements: list[PlannedPlacement]
    jobs: list[PlannedJob]
    complete: bool
    """There was time for every Job."""


class RenderedPlacement(Model):
    """The objects that a stored placement would give a member now."""

    kind: str
    namespace: str
    name: str
    cluster: str
    selected: bool
    """The member was picked."""
    message: str
    manifests: list[PlannedManifest]
    """At most 500, of 2 MiB."""
    faults: list[PlannedFault]
    manifests_left: int


class RebalanceWish(Body):
    """True: do it; otherwise only show."""

    model_config = example_of({"carryOut": True})

    carry_out: bool | None = None
    """Else it is only shown."""


class Rebalanced(Model):
    """Clusters of a placement, were nothing of it chosen yet."""

    kind: str
    namespace: str
    name: str
    carried_out: bool
    """The moves begin: who goes does so once who comes is available."""
    stays: list[str]
    goes: list[str]
    comes: list[str]
    message: str
    clusters: list[PlannedCluster]
    """Best first; at most 200."""


class EvictionWish(Body):
    """The cluster that a placement leaves."""

    model_config = example_of({"cluster": "east", "dryRun": True})

    cluster: str
    dry_run: bool | None = None
    """Say what would leave, and make no eviction."""


class EvictionAnswer(Model):
    """The losses of a placement in one cluster, real or previewed."""

    kind: str
    namespace: str
    name: str
    cluster: str
    valid: bool
    """It is possible: the placement has that cluster, and may be evicted at all."""
    allowed: bool
    """Its disruption budget lets it leave now."""
    message: str
    object_count: int
    """Objects that it has there."""
    job_count: int
    """Jobs of it that are there and have not ended: they wait for a cluster again."""
    members: list[MemberRemoval]
    """Objects and Jobs that leave, and what becomes of each in the member."""
    eviction: str
    """Name of the eviction that was made; empty of what is only shown."""
