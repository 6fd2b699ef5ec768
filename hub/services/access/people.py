"""People's credentials: named administrators, viewers and users, each with one bearer token.

Administrators and viewers are so everywhere; what users may do, role bindings say
(`hub.services.access.bindings`).

The first administrator, `admin`, is the hub's own: its token lies in a file that only the hub's user
can read (`hub.services.context.identity`), and is no matter of these routes.
"""

from collections.abc import Sequence

from hub.domain.access import UNKNOWN
from hub.domain.instants import stamp
from hub.services.access.credentials import ADMINISTRATOR, USER, VIEWER, replace_bearer
from hub.services.access.sign_in.terms import RESERVED
from hub.store import audit, tokens
from hub.store.records.tokens import StoredPrincipal
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.names import SUBDOMAIN_RULE, is_dns_subdomain
from shared.reject_codes import RejectCode

ROLES = (ADMINISTRATOR, VIEWER, USER)
MOST_GROUPS = 100
ROLE_RULE = f"a person is {', '.join(ROLES[:-1])} or {ROLES[-1]}"
FIRST = (ADMINISTRATOR, "admin")


def list_people(tx: Transaction) -> Json:
    """Users with tokens: {"items": [{"role", "name", "createdAt"}]}."""
    return {"items": [_view(row) for row in tokens.list_principals(tx) if row.role in ROLES]}


def issue(
    tx: Transaction, role: str, name: str, principal: str, groups: Sequence[str] = ()
) -> Json:
    """A new token for a user; creates the user if there is none of that role and name.

    Earlier tokens of that person end. `groups`: those that a user is in from now on. Raises Rejected:
    InvalidRole, InvalidName, InvalidValue, TooManyItems, Forbidden, AlreadyExists.
    """
    if role not in ROLES:
        raise Rejected(RejectCode.INVALID_ROLE, ROLE_RULE, "role")
    if name.startswith(RESERVED):
        said = f"names that begin with {' or '.join(RESERVED)} are of people who sign in elsewhere"
        raise Rejected(RejectCode.INVALID_NAME, said, "name")
    if not is_dns_subdomain(name):
        raise Rejected(RejectCode.INVALID_NAME, SUBDOMAIN_RULE, "name")
    if name == UNKNOWN:
        said = "is the name of unknown job owners: choose another"
        raise Rejected(RejectCode.INVALID_NAME, said, "name")
    if groups and role != USER:
        raise Rejected(
            RejectCode.INVALID_VALUE,
            f"{role}s have no groups: only users do",
            "groups",
        )
    if len(groups) > MOST_GROUPS:
        raise Rejected(RejectCode.TOO_MANY_ITEMS, f"at most {MOST_GROUPS} groups", "groups")
    if any(each.startswith(RESERVED) for each in groups):
        said = f"groups that begin with {' or '.join(RESERVED)} are what somebody else says"
        raise Rejected(RejectCode.INVALID_VALUE, said, "groups")
    _leave_the_first(role, name)
    _keep_apart(tx, role, name)
    token = replace_bearer(tx, role, name)
    _note(tx, principal, "issue-token", role, name, groups)
    found = tokens.find_principal(tx, role, name)
    assert found is not None
    if role == USER:
        tokens.set_groups(tx, found.id, groups)
        found = found._replace(groups=sorted(set(groups)))
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


def _keep_apart(tx: Transaction, role: str, name: str) -> None:
    """A name is a person, who owns jobs and did what the audit says. Raises Rejected: AlreadyExists.

    An administrator and a viewer of one name may be the same person with two tokens: neither has anything by
    its name alone. A user does. One that is there already gets another token whatever its name.
    """
    others = tokens.roles_named(tx, name)
    if role in others:
        return
    for other in sorted(others if role == USER else others & {USER}):
        said = f"{name} is the name of the {other} there is, and jobs and the audit go by names: "
        said += "choose another name, or revoke that one first"
        raise Rejected(RejectCode.ALREADY_EXISTS, said, "name")


def _note(
    tx: Transaction, principal: str, verb: str, role: str, name: str, groups: Sequence[str] = ()
) -> None:
    of = f"{role} {name}" + (f" groups={','.join(sorted(set(groups)))}" if groups else "")
    audit.add(tx, principal, verb, of, about=("Token", "", name))


def _view(row: StoredPrincipal) -> Json:
    told = {"role": row.role, "name": row.name, "createdAt": stamp(row.created_at)}
    return told | {"groups": row.groups or []} if row.role == USER else told
