"""Plans: where documents would go if applied now."""

from roadstead.models.placements import EnvelopeName, SelectedResource
from roadstead.models.record import Json, Record, record_field
from roadstead.models.removal import MemberRemoval


class PlannedCluster(Record):
    """A member's verdict for a placement."""

    name: str
    selected: bool = False
    affinity_score: int = 0
    topology_spread_score: int = 0
    message: str = ""


class PlannedManifest(Record):
    """One object as a member would get it, and the overrides that apply."""

    cluster: str
    api_version: str
    kind: str
    namespace: str = ""
    name: str
    envelope: EnvelopeName | None = None
    overrides: tuple[str, ...] = ()
    manifest: Json = record_field(default_factory=dict)


class PlannedFault(Record):
    """An object that a member would not get, and why; `cluster` is empty if it concerns none."""

    cluster: str = ""
    message: str = ""


class PlannedPlacement(Record):
    """A placement of the documents; clusters best first. `manifests`: None if not requested.

    `members`: the objects of the placement that they lose.
    """

    kind: str
    namespace: str = ""
    name: str
    selected: tuple[SelectedResource, ...] = ()
    selected_count: int = 0
    fulfilled: bool = False
    reason: str = ""
    message: str = ""
    clusters: tuple[PlannedCluster, ...] = ()
    members: tuple[MemberRemoval, ...] = ()
    manifests: tuple[PlannedManifest, ...] | None = None
    faults: tuple[PlannedFault, ...] = ()
    manifests_left: int = 0


class RenderedPlacement(Record):
    """The manifests of an existing placement for a member; `selected`: it was picked."""

    kind: str
    namespace: str = ""
    name: str
    cluster: str
    selected: bool = False
    message: str = ""
    manifests: tuple[PlannedManifest, ...] = ()
    faults: tuple[PlannedFault, ...] = ()
    manifests_left: int = 0


class JobStand(Record):
    """A member's verdict for a Job; `score` is None if it cannot hold the Job."""

    name: str
    fits: bool = False
    score: int | None = None
    message: str = ""


class PlannedJob(Record):
    """A Job of the documents, examined alone; clusters best first."""

    kind: str = "Job"
    namespace: str
    name: str
    queue: str = ""
    cluster_queue: str = ""
    priority: int = 0
    admitted: bool = False
    cluster: str = ""
    reason: str = ""
    message: str = ""
    waiting_before: int = 0
    preempts: int = 0
    clusters: tuple[JobStand, ...] = ()


class Plan(Record):
    """Placements and Jobs of the documents. `complete`: there was time for every Job."""

    placements: tuple[PlannedPlacement, ...] = ()
    jobs: tuple[PlannedJob, ...] = ()
    complete: bool = True


class Rebalanced(Record):
    """The pick of a placement without its existing picks; clusters best first."""

    kind: str
    namespace: str = ""
    name: str
    carried_out: bool = False
    stays: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    comes: tuple[str, ...] = ()
    message: str = ""
    clusters: tuple[PlannedCluster, ...] = ()


class Evicted(Record):
    """Objects and jobs that a placement loses in one cluster, or would. `eviction`: the created object.

    `members`: the leaving objects and Jobs, with the effects.
    """

    kind: str
    namespace: str = ""
    name: str
    cluster: str
    valid: bool
    allowed: bool
    message: str = ""
    object_count: int = 0
    job_count: int = 0
    members: tuple[MemberRemoval, ...] = ()
    eviction: str = ""
