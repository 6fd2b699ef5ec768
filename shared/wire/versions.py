"""Protocol negotiation between hub and agent: the agent offers a range, the hub chooses.

Both go in headers, which either side's older releases ignore, with registration and with every request
of a session. A message has nothing of a newer protocol than the one chosen; what it has besides is ignored,
and what it lacks has a default, so that releases one minor apart understand each other both ways.

    1   sessions, desired and observed sets; credentials without end
    2   credentials are replaced (`SyncReply.rotate`), and their first secret is the agent's own
    3   objects are abandoned: `Keep` of what is no Job (agents of before leave it as it is); rules of
        applying; `Compare`, which is `Keep` to agents of before: they write nothing; statuses of objects
        (`Work.report_status`)
    4   works carry the id of their namespace in the hub (`Work.namespace_id`)
    5   the hub orders sessions (`SyncRequest.follows`, `SyncReply.confirm`); those of agents of before are
        ordered by their clocks
    6   capacity reports say on which nodes the bound pods of each work are (`Bound.nodes`); entries name
        objects that nothing desires any more (`Observed.left`)
    7   works of kinds that are no Jobs (`Work.kind_rule`), with the definitions of these kinds
        (`SyncReply.kinds`); works name the one object that they are about (`Work.object_uid`); entries of
        objects that nothing desires name their placement (`LeftObject.placed_by`); a session names the
        kinds that it has not read (`SyncRequest.kinds_unread`)
"""

import functools
import importlib.metadata
from collections.abc import Mapping
from typing import Final

OLDEST: Final = 1
NEWEST: Final = 7
ABANDONS: Final = 3  # the first in which an agent can leave objects to its member
COMPARES: Final = 3  # … in which it can compare without writing
APPLY_RULES: Final = 3  # … in which it knows `force`, `co_ownership` and `compare_all`
NAMESPACE_IDS: Final = 4  # … in which it knows ids of namespaces
CONFIRMS: Final = 5  # … in which it confirms a session before that supersedes another
POD_NODES: Final = 6  # … in which its reports say on which nodes pods are
LEFT_OBJECTS: Final = 6  # … in which it names objects that nothing desires any more
KINDS: Final = 7  # … in which it holds, starts and reads works of kinds that are no Jobs
OBJECT_UIDS: Final = 7  # … in which works name the object in the member that they are about
PROTOCOL_HEADER: Final = (
    "Roadstead-Protocol"  # agent: `1-2`, what it speaks; hub: `2`, what it chose
)
# agent: the revision of the rules of availability that it goes by, where it knows of any; none: it does not
RULES_HEADER: Final = "Roadstead-Availability-Rules"
# agent: the revision of the namespaces that the hub named to it; none: it reports no consent
NAMESPACES_HEADER: Final = "Roadstead-Namespaces"
# … `1`: with their ids, `0`: by a hub that told none; none: it knows of no ids
NAMESPACE_IDS_HEADER: Final = "Roadstead-Namespace-Ids"
# agent: the revision of the definitions of kinds that it holds; none: it knows of no kinds
KINDS_HEADER: Final = "Roadstead-Kinds"
LINK_HEADER: Final = "Roadstead-Link"
PLAIN_HTTP: Final = "plain-http"  # its only value: by --hub-plain-http, from another machine
_USER_AGENT: Final = "roadstead-agent/"
_LONGEST_VERSION: Final = 64


class NotSpoken(Exception):
    """There is no protocol that both sides speak; the message says which is to be upgraded."""


@functools.cache  # reading it costs 0.2 ms
def release() -> str:
    """The installed release; "" if unknown."""
    try:
        return importlib.metadata.version("roadstead")
    except importlib.metadata.PackageNotFoundError:
        return ""


def offer() -> str:
    """The agent's protocols."""
    return f"{OLDEST}-{NEWEST}"


def choose(offered: str, spoken: int, oldest: int = OLDEST) -> int:
    """The newest protocol of both. `spoken`: what the message itself is of, for who offers nothing.

    Raises NotSpoken.
    """
    low, high = _range(offered, spoken)
    oldest = max(oldest, OLDEST)
    told = f"protocol {oldest}" if oldest == NEWEST else f"protocol {oldest} to {NEWEST}"
    if high < oldest:
        raise NotSpoken(f"the hub speaks {told}, the agent {high} at most: upgrade the agent")
    if low > NEWEST:
        raise NotSpoken(f"the hub speaks {told}, the agent {low} at least: upgrade the hub")
    return min(high, NEWEST)


def rules_held(told: str | None) -> int | None:
    """The revision that an agent holds, of rules or of named namespaces; None: it knows of none."""
    return _revision(told or "")


def ids_held(headers: Mapping[str, str]) -> bool | None:
    """Does an agent hold the ids of the namespaces that it was named? None: it knows of none."""
    return {"1": True, "0": False}.get(headers.get(NAMESPACE_IDS_HEADER, ""))


def chosen(answered: str | None) -> int:
    """The protocol that a hub chose, by its answer's header; without one the first protocol."""
    found = _number(answered or "")
    return found if found is not None and OLDEST <= found <= NEWEST else OLDEST


def user_agent(version: str) -> str:
    """The name that an agent of this version sends."""
    return f"{_USER_AGENT}{version or 'unknown'}"


def version_of(given: str) -> str:
    """The agent's version, of what it calls itself; "" if it does not say."""
    found = given.removeprefix(_USER_AGENT) if given.startswith(_USER_AGENT) else ""
    return found[:_LONGEST_VERSION] if found.isascii() and found.isprintable() else ""


def _range(offered: str, spoken: int) -> tuple[int, int]:
    low, dash, high = offered.partition("-")
    first, last = _number(low), _number(high)
    if not dash or first is None or last is None or first > last:
        return spoken, spoken
    return first, last


def _revision(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
