"""People: who they are, what they may do, which roles are bound, and the audit of what was done."""

from typing import Annotated, Literal

from hub.api.models.base import Body, Instant, ListPage, Model, example_of, refused_as
from hub.domain.access import Noun, Role, Verb
from shared.reject_codes import RejectCode

_NAMES = refused_as(RejectCode.INVALID_VALUE, "must be a list of names")


class BoundRole(Model):
    """A role of a user, and its scope."""

    role: Role
    namespaces: list[str] | None
    """null: all of them."""
    queues: list[str] | None
    """LocalQueues by name; null: all of them."""
    priority_classes: list[str] | None
    """WorkloadPriorityClasses that jobs may name; null: all of them."""


class WhoAmI(Model):
    """The caller's identity."""

    name: str
    """Owner of the jobs that they submit."""
    role: Literal["administrator", "viewer", "user"]
    """Of the credential: a user may do what role bindings say, the others what they are, everywhere."""
    groups: list[str]
    roles: list[BoundRole]


class Allowed(Model):
    """Whether a user may do something."""

    allowed: bool
    verb: Verb
    kind: Noun
    namespace: str
    reason: str
    """The roles that allow it, or that none does."""


class BoundRoleDetail(BoundRole):
    """A role binding."""

    name: str
    users: list[str]
    groups: list[str]
    created_by: str
    created_at: Instant


class RoleBindingList(Model):
    """All role bindings, by name."""

    items: list[BoundRoleDetail]


class NewRoleBinding(Body):
    """A role, its users and groups, and its scope. Namespaces and queues that are left out: all of them."""

    model_config = example_of(
        {"role": "submitter", "groups": ["physics"], "namespaces": ["team-a"]}
    )

    role: Annotated[
        Literal["viewer", "submitter", "batch-administrator", "cluster-administrator"],
        refused_as(RejectCode.INVALID_ROLE, f"must be one of {', '.join(Role)}"),
    ]
    users: Annotated[list[str] | None, _NAMES] = None
    groups: Annotated[list[str] | None, _NAMES] = None
    namespaces: Annotated[list[str] | None, _NAMES] = None
    queues: Annotated[list[str] | None, _NAMES] = None
    priority_classes: Annotated[list[str] | None, _NAMES] = None
    """WorkloadPriorityClasses that jobs may name; left out: all of them."""


class AuditRow(Model):
    """One recorded change."""

    id: int
    at: Instant
    principal: str
    verb: str
    kind: str
    namespace: str
    name: str
    object: str
    outcome: str


class AuditList(ListPage):
    """A page of the audit, newest first."""

    items: list[AuditRow]
