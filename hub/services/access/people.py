"""People's credentials: named administrators and viewers, each with one bearer token.

The first administrator, `admin`, is the hub's own: its token lies in a file that only the hub's user
can read (`hub.services.context.identity`), and is no matter of these routes.
"""

from hub.domain.instants import stamp
from hub.services.access.credentials import ADMINISTRATOR, VIEWER, replace_bearer
from hub.store import audit, tokens
from hub.store.records.tokens import StoredPrincipal
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.names import SUBDOMAIN_RULE, is_dns_subdomain
from shared.reject_codes import RejectCode

ROLES = (ADMINISTRATOR, VIEWER)
FIRST = (ADMINISTRATOR, "admin")


def list_people(tx: Transaction) -> Json:
    """Who may come in as a person: {"items": [{"role", "name", "createdAt"}]}."""
    return {"items": [_view(row) for row in tokens.list_principals(tx) if row.role in ROLES]}


def issue(tx: Transaction, role: str, name: str, principal: str) -> Json:
    """A new token for a person, who is made if there is none of that role and name.

    Earlier tokens of that person end. Raises Rejected: InvalidRole, InvalidName, Forbidden.
    """
    if role not in ROLES:
        raise Rejected(RejectCode.INVALID_ROLE, f"a person is {' or '.join(ROLES)}", "role")
    if not is_dns_subdomain(name):
        raise Rejected(RejectCode.INVALID_NAME, SUBDOMAIN_RULE, "name")
    _leave_the_first(role, name)
    token = replace_bearer(tx, role, name)
    _note(tx, principal, "issue-token", role, name)
    found = tokens.find_principal(tx, role, name)
    assert found is not None
    return {**_view(found), "token": token}


def revoke(tx: Transaction, role: str, name: str, principal: str) -> Json:
    """Forget a person; the token ends. Raises Rejected: NotFound, Forbidden."""
    _leave_the_first(role, name)
    found = tokens.find_principal(tx, role, name) if role in ROLES else None
    if found is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {role[:64]} {name[:64]}")
    tokens.remove_principal(tx, found.id)
    _note(tx, principal, "revoke-token", role, name)
    return _view(found)


def _leave_the_first(role: str, name: str) -> None:
    if (role, name) == FIRST:
        text = (
            "admin's token is in the hub's admin.token; delete that file and restart to replace it"
        )
        raise Rejected(RejectCode.FORBIDDEN, text, "name")


def _note(tx: Transaction, principal: str, verb: str, role: str, name: str) -> None:
    audit.add(tx, principal, verb, f"{role} {name}")


def _view(row: StoredPrincipal) -> Json:
    return {"role": row.role, "name": row.name, "createdAt": stamp(row.created_at)}
