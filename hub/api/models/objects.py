"""Objects of any kind: as submitted, as shown, and the result of each."""

from typing import Annotated, Literal

from fastapi import Body as BodyField
from pydantic import ConfigDict, Field, WithJsonSchema

from hub.api.models.base import Body, Kubernetes, Labels, ListPage, Model, example_of, refused_as
from hub.api.models.problem import FieldProblem
from hub.api.models.removal import MemberRemoval
from shared.kinds.dispatched import DISPATCHED
from shared.reject_codes import RejectCode


def _one_of(*values: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": sorted(set(values))})


class EnvelopeName(Model):
    """The envelope that an object lies in."""

    type: str
    namespace: str
    name: str


class AppliedDocument(Model):
    """The result of one document."""

    index: int
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    result: Literal["created", "configured", "unchanged", "rejected"]
    warnings: list[str] = []
    """What of it is stored and changes nothing."""
    code: str = ""
    """Of one that was rejected."""
    detail: str = ""
    errors: list[FieldProblem] = []


class ApplyResult(Model):
    """The results of the documents, in order."""

    items: list[AppliedDocument]


class ManifestMetadata(Model):
    """The name of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = "default"
    labels: Labels = {}
    annotations: Labels = {}


class Manifest(Model):
    """Any Kubernetes object."""

    api_version: str
    kind: str
    metadata: ManifestMetadata
    spec: Kubernetes = {}


class JobManifest(Manifest):
    """A Job of batch/v1, or an object of another kind that the hub dispatches and that names its queue.

    Queue, priority and placement are [labels and annotations] of it.
    """

    api_version: Annotated[str, _one_of("batch/v1", *(version for version, _ in DISPATCHED))]
    kind: Annotated[str, _one_of("Job", *(kind for _, kind in DISPATCHED))]


class ObjectMetadata(Model):
    """The hub's record of an object, beside its manifest."""

    model_config = ConfigDict(extra="allow")

    name: str
    namespace: str = ""
    uid: str
    generation: int
    resource_version: str = ""
    """Of what is declared: a document with it changes this version and no other. Workloads have none."""
    creation_timestamp: str
    deletion_timestamp: str = ""
    labels: Labels | None = None
    annotations: Labels | None = None


class ShownObject(Model):
    """An object as Kubernetes would show it, with `spec`, `data` and so on. Of Secrets, marks of values."""

    model_config = ConfigDict(extra="allow")

    api_version: str
    kind: str
    metadata: ObjectMetadata
    status: Kubernetes = {}
    origin: str
    """`rest`, `hub-cluster` or `hub`: only there it is changed and deleted."""


class ObjectList(ListPage):
    """A page of objects of one kind, by namespace and name; shorter where objects are large."""

    items: list[ShownObject]


class KindCount(Model):
    """A kind, and how many objects of it the hub holds."""

    group: str
    kind: str
    count: int


class KindList(Model):
    """Kinds that the hub holds."""

    items: list[KindCount]


class Preconditions(Body):
    """Preconditions."""

    uid: (
        Annotated[str, Field(min_length=1), refused_as(RejectCode.INVALID_TYPE, "must be a uid")]
        | None
    ) = None
    """Uid of the object; if another one has its name by now, nothing is deleted."""


class DeleteOptions(Body):
    """On what condition something is deleted."""

    model_config = example_of({"preconditions": {"uid": "019ca945-0a00-7745-88a6-75f98f0251e0"}})

    preconditions: Preconditions | None = None


class JobDeleteOptions(DeleteOptions):
    """On what condition a job is deleted, or whether it would be."""

    model_config = example_of({"dryRun": True})

    dry_run: bool | None = None
    """Deletes nothing: refuses what the deletion would refuse, and answers with the job as it is."""


# Of a route that deletes: the body may be left out, and is no `null`.
Options = Annotated[
    DeleteOptions | None,
    WithJsonSchema({"$ref": "#/components/schemas/DeleteOptions"}),
    BodyField(),
]
JobOptions = Annotated[
    JobDeleteOptions | None,
    WithJsonSchema({"$ref": "#/components/schemas/JobDeleteOptions"}),
    BodyField(),
]


class HandOver(Body):
    """The new owner of an object."""

    model_config = example_of(
        {"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "name": "main", "to": "rest"}
    )

    group: str
    kind: str
    namespace: str = ""
    name: str
    to: Literal["rest", "hub-cluster"]


class HandedOver(Model):
    """The owner of the object."""

    uid: str
    result: Literal["handed-over", "handing-over", "unchanged"]
    """`handing-over`: the bridge hands it over to the hub cluster."""


class Deletion(Model):
    """The result for the object."""

    uid: str
    result: Literal["deleted", "deleting", "wouldDelete", "ownedElsewhere"]
    """`deleting`: its works in members are withdrawn first. Of a dry run: `wouldDelete`, or `ownedElsewhere`
    for an object that is deleted elsewhere.
    """
    message: str = ""
    """Where to delete an object that is `ownedElsewhere`; in a dry run, how many Jobs go with a CronJob."""
    members: list[MemberRemoval] = []
    """What the deletion does in members."""


def uid_of(options: DeleteOptions | None) -> str:
    """The expected uid, or "" for any object of that name."""
    meant = options and options.preconditions and options.preconditions.uid
    return meant or ""
