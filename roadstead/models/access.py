"""People: the caller, rights, role bindings, and the audit."""

import datetime as dt

from roadstead.models.record import Record


class BoundRole(Record):
    """A role of one person; None for namespaces, queues or priority classes means all of them."""

    role: str
    namespaces: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    priority_classes: tuple[str, ...] | None = None


class WhoAmI(Record):
    """The caller; `role` is the credential's, `roles` the bound ones, with their namespaces."""

    name: str
    role: str
    groups: tuple[str, ...] = ()
    roles: tuple[BoundRole, ...] = ()


class ProviderOfHub(Record):
    """An OpenID Connect provider, and the command line's client there."""

    issuer: str
    client_id: str
    scopes: str = "openid"


class WaysIn(Record):
    """Ways to sign in besides the hub's own tokens; None: not configured."""

    oidc: ProviderOfHub | None = None


class Allowed(Record):
    """Whether an action is allowed, and why."""

    allowed: bool
    verb: str = ""
    kind: str = ""
    namespace: str = ""
    reason: str = ""


class RoleBinding(BoundRole):
    """A role bound to users and groups."""

    name: str
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    created_by: str = ""
    created_at: dt.datetime | None = None


class AuditEntry(Record):
    """One change in the audit."""

    id: int
    at: dt.datetime
    principal: str
    verb: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
    object: str = ""
    outcome: str = ""
