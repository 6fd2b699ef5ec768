"""Role bindings as administrators keep them: who has which role where. Bindings that could not be kept to
are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.access import Role, RoleBinding, unenforceable
from hub.domain.instants import stamp
from hub.store import access, audit
from hub.store.access import StoredRoleBinding
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.names import LABEL_RULE, SUBDOMAIN_RULE, is_dns_label, is_dns_subdomain
from shared.reject_codes import RejectCode

MOST: Final = 1000  # bindings of a hub: all are looked at for each request of a person
MOST_NAMES: Final = 200  # of users, groups, namespaces or queues in one
LONGEST: Final = 253
_KIND: Final = "RoleBinding"
_CLASSES: Final = "priorityClasses"


@dataclass(frozen=True, slots=True)
class WantedBinding:
    """A role for users and groups; namespaces, queues and priority classes None: all of them."""

    name: str
    role: str
    users: Sequence[str] = ()
    groups: Sequence[str] = ()
    namespaces: Sequence[str] | None = None
    queues: Sequence[str] | None = None
    priority_classes: Sequence[str] | None = None


def list_bindings(tx: Transaction) -> Json:
    """All of them by name: {"items"}."""
    return {"items": [_view(row) for row in access.every(tx)]}


def bind(tx: Transaction, wanted: WantedBinding, principal: str) -> Json:
    """Give a role, in place of the binding of that name. Raises Rejected: InvalidName, InvalidRole,
    Required, InvalidValue, TooManyItems.
    """
    _check(wanted)
    before = access.get(tx, wanted.name)
    if before is None and len(access.every(tx)) >= MOST:
        said = f"there are {MOST} bindings: bind groups rather than users, or take some away"
        raise Rejected(RejectCode.TOO_MANY_ITEMS, said)
    row = StoredRoleBinding(
        name=wanted.name,
        role=wanted.role,
        users=sorted(set(wanted.users)),
        groups=sorted(set(wanted.groups)),
        namespaces=_sorted(wanted.namespaces),
        queues=_sorted(wanted.queues),
        priority_classes=_sorted(wanted.priority_classes),
        created_by=principal if before is None else before.created_by,
        created_at=tx.now if before is None else before.created_at,
    )
    if row != before:
        access.put(tx, row)
        audit.add(tx, principal, "bind", f"{_KIND} {row.name} {_whom(row)}", row.role)
    return _view(row)


def unbind(tx: Transaction, name: str, principal: str) -> Json:
    """Remove a binding; it loses its effect within seconds, everywhere. Raises Rejected: NotFound."""
    row = access.get(tx, name)
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no role binding {name[:64]}")
    access.remove(tx, name)
    audit.add(tx, principal, "unbind", f"{_KIND} {name} {_whom(row)}", row.role)
    return _view(row)


def binding_of(row: StoredRoleBinding) -> RoleBinding | None:
    """A row as rules read it; None: of a role that this release does not know, which gives nothing."""
    try:
        role = Role(row.role)
    except ValueError:
        return None
    return RoleBinding(
        row.name,
        role,
        frozenset(row.users),
        frozenset(row.groups),
        None if row.namespaces is None else frozenset(row.namespaces),
        None if row.queues is None else frozenset(row.queues),
        None if row.priority_classes is None else frozenset(row.priority_classes),
    )


def _check(wanted: WantedBinding) -> None:
    if not is_dns_subdomain(wanted.name):
        raise Rejected(RejectCode.INVALID_NAME, SUBDOMAIN_RULE, "name")
    if wanted.role not in set(Role):
        raise Rejected(RejectCode.INVALID_ROLE, f"must be one of {', '.join(Role)}", "role")
    if not wanted.users and not wanted.groups:
        raise Rejected(RejectCode.REQUIRED, "name at least one user or group", "users")
    for field in ("users", "groups", "namespaces", "queues"):
        _check_names(field, getattr(wanted, field))
    _check_names(_CLASSES, wanted.priority_classes)
    for place in wanted.namespaces or ():
        if not is_dns_label(place):
            raise Rejected(RejectCode.INVALID_NAME, LABEL_RULE, "namespaces")
    role, classes = Role(wanted.role), wanted.priority_classes
    if why := unenforceable(role, None, None, classes):
        raise Rejected(RejectCode.INVALID_VALUE, why, _CLASSES)
    if why := unenforceable(role, wanted.namespaces, wanted.queues):
        raise Rejected(RejectCode.INVALID_VALUE, why, "namespaces")


def _check_names(field: str, given: Sequence[str] | None) -> None:
    if given is None:
        return
    if not given and field in {"namespaces", "queues", _CLASSES}:
        raise Rejected(RejectCode.REQUIRED, "name at least one, or leave it out for all", field)
    if len(given) > MOST_NAMES:
        raise Rejected(RejectCode.TOO_MANY_ITEMS, f"at most {MOST_NAMES} names", field)
    for each in given:
        if not each or len(each) > LONGEST or not each.isprintable():
            said = f"must be 1 to {LONGEST} printable characters"
            raise Rejected(RejectCode.INVALID_VALUE, said, field)


def _sorted(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else sorted(set(names))


def _whom(row: StoredRoleBinding) -> str:
    """To whom and where, for the audit: of a binding that was replaced nothing else tells it."""
    given = {
        "users": row.users,
        "groups": row.groups,
        "namespaces": row.namespaces or ["*"],
        "queues": row.queues or ["*"],
        "priority-classes": row.priority_classes or (),
    }
    return " ".join(f"{name}={','.join(each)}" for name, each in given.items() if each)


def _view(row: StoredRoleBinding) -> Json:
    return {
        "name": row.name,
        "role": row.role,
        "users": row.users,
        "groups": row.groups,
        "namespaces": row.namespaces,
        "queues": row.queues,
        "priorityClasses": row.priority_classes,
        "createdBy": row.created_by,
        "createdAt": stamp(row.created_at),
    }
