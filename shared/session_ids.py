"""Ids of agents' sessions, and what orders them.

From protocol 5 on the hub orders sessions: a new one supersedes the live one only by `mark_of` that, which
its agent learns from the hub's answer. So whoever supersedes is a process that lives now; no clock counts.
Before, ids say when the session began, by its agent's clock; those of another form say nothing. Pure.
"""

import datetime as dt
import hashlib
import re
import uuid

_FORM = re.compile(r"t(\d{1,15})-[0-9a-f]{32}")
_MS = dt.timedelta(milliseconds=1)
_ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def new_session(now: dt.datetime) -> str:
    """An id for a session that begins now; no other has it."""
    return f"t{(now - _ZERO) // _MS:013}-{uuid.uuid4().hex}"


def mark_of(session: str) -> str:
    """What tells a session apart in messages about it, without its id; "" for none."""
    return hashlib.sha256(session.encode()).hexdigest()[:32] if session else ""


def began_at(session: str) -> dt.datetime | None:
    """When a session says that it began, by its agent's clock; None where it does not say."""
    found = _FORM.fullmatch(session)
    if found is None:
        return None
    try:
        return _ZERO + int(found[1]) * _MS
    except OverflowError:
        return None
