"""People: the caller, their rights, role bindings, and the audit."""

import datetime as dt
from collections.abc import Sequence

from roadstead.calls.bodies import body_of
from roadstead.models.access import Allowed, AuditEntry, RoleBinding, WaysIn, WhoAmI
from roadstead.paths import part
from roadstead.steps import Flow, Request, Steps, items, one, pages

_BINDINGS = "/v1/access/bindings"


def whoami() -> Steps[WhoAmI]:
    """The caller's name and roles at the hub."""
    return one(Request("GET", "/v1/whoami"), WhoAmI)


def ways_in() -> Steps[WaysIn]:
    """The hub's sign-in configuration; needs no token."""
    return one(Request("GET", "/v1/sign-in"), WaysIn)


def can_i(
    verb: str, kind: str, *, namespace: str | None = None, queue: str | None = None
) -> Steps[Allowed]:
    """Return whether this client may do `verb` to `kind`, in `namespace` or anywhere."""
    query = {"verb": verb, "kind": kind, "namespace": namespace, "queue": queue}
    return one(Request("GET", "/v1/can-i", query), Allowed)


def role_bindings() -> Steps[list[RoleBinding]]:
    """List role bindings."""
    return items(Request("GET", _BINDINGS), RoleBinding)


def bind_role(
    name: str,
    role: str,
    *,
    users: Sequence[str] = (),
    groups: Sequence[str] = (),
    namespaces: Sequence[str] | None = None,
    queues: Sequence[str] | None = None,
    priority_classes: Sequence[str] | None = None,
) -> Steps[RoleBinding]:
    """Bind a role to users and groups; replaces the binding of that name. None: everywhere."""
    given = {
        "role": role,
        "users": list(users),
        "groups": list(groups),
        "namespaces": None if namespaces is None else list(namespaces),
        "queues": None if queues is None else list(queues),
        "priorityClasses": None if priority_classes is None else list(priority_classes),
    }
    body = body_of({key: value for key, value in given.items() if value is not None})
    return one(Request("PUT", f"{_BINDINGS}/{part(name)}", body=body), RoleBinding)


def unbind_role(name: str) -> Steps[RoleBinding]:
    """Remove a role binding."""
    return one(Request("DELETE", f"{_BINDINGS}/{part(name)}"), RoleBinding)


def audit(
    *,
    principal: str | None = None,
    verb: str | None = None,
    kind: str | None = None,
    namespace: str | None = None,
    since: dt.datetime | None = None,
    limit: int | None = None,
) -> Flow[AuditEntry]:
    """Read the audit, newest first."""
    filters = {
        "principal": principal,
        "verb": verb,
        "kind": kind,
        "namespace": namespace,
        "since": None if since is None else since.isoformat(),
    }
    return pages("/v1/audit", filters, AuditEntry, limit)
