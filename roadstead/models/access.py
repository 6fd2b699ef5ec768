"""People: who is asking, what they may do, which roles are bound, and what was done."""

import datetime as dt

from roadstead.models.record import Record


class BoundRole(Record):
    """A role of one person; namespaces, queues and priority classes None: all of them."""

    role: str
    namespaces: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    priority_classes: tuple[str, ...] | None = None


class WhoAmI(Record):
    """Who is asking; `role` is the credential's, `roles` what they have, and where."""

    name: str
    role: str
    groups: tuple[str, ...] = ()
    roles: tuple[BoundRole, ...] = ()


class ProviderOfHub(Record):
    """A provider of OpenID Connect, and the client that the command line is there."""

    issuer: str
    client_id: str
    scopes: str = "openid"


class WaysIn(Record):
    """How people sign in besides the hub's own tokens; None: not so."""

    oidc: ProviderOfHub | None = None


class Allowed(Record):
    """Whether something may be done, and why."""

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
    """Who did what."""

    id: int
    at: dt.datetime
    principal: str
    verb: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
    object: str = ""
    outcome: str = ""
