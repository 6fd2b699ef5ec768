"""Objects in Kubernetes' structure, and the results of applying them."""

import datetime as dt

from roadstead.errors import FieldProblem, field_problems
from roadstead.models.record import Json, Record, record_field
from roadstead.models.removal import MemberRemoval


class Condition(Record):
    """One condition of an object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: dt.datetime | None = None


class OwnerReference(Record):
    """The owner of an object."""

    api_version: str = ""
    kind: str
    name: str
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Record):
    """An object's metadata."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 1
    labels: dict[str, str] = record_field(default_factory=dict)
    annotations: dict[str, str] = record_field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: dt.datetime | None = None
    deletion_timestamp: dt.datetime | None = None


class KubernetesObject(Record):
    """An object of any kind; `raw` has the fields of its kind."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata
    spec: Json = record_field(default_factory=dict)
    status: Json = record_field(default_factory=dict)
    origin: str = ""


class HeldKind(Record):
    """A kind that the hub holds objects of; `group` is "" for Kubernetes' own."""

    group: str = ""
    kind: str
    count: int = 0

    def is_called(self, word: str) -> bool:
        """Whether a typed word names it: in any case, singular or plural."""
        kind = self.kind.lower()
        return word.lower() in {kind, f"{kind}s"}


class Deleted(Record):
    """The outcome of a deletion: `result` is deleted, deleting if it takes time, or wouldDelete of a dry
    run; ownedElsewhere of a dry run if the object is deleted elsewhere, as `message` says. `members`:
    the effects in members.
    """

    uid: str = ""
    result: str
    message: str = ""
    members: tuple[MemberRemoval, ...] = ()


class HandedOver(Record):
    """The owner of an object: `result` is handed-over, unchanged, or handing-over (to the hub cluster)."""

    uid: str = ""
    result: str


class Applied(Record):
    """The result of one document: `result` is created, configured, unchanged or rejected."""

    index: int = 0
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    result: str
    warnings: tuple[str, ...] = ()
    code: str = ""
    detail: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether the hub rejected it; `code`, `detail` and `errors` have the reason."""
        return self.result == "rejected"

    @property
    def errors(self) -> tuple[FieldProblem, ...]:
        """The fields with errors."""
        return field_problems(self.raw)
