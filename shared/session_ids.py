"""Ids of agents' sessions: they say when the session began, so that the hub can tell which came first.

Pure. Ids of another form, as older agents give themselves, say nothing.
"""

import datetime as dt
import re
import uuid

_FORM = re.compile(r"t(\d{1,15})-[0-9a-f]{32}")
_MS = dt.timedelta(milliseconds=1)
_ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def new_session(now: dt.datetime) -> str:
    """An id for a session that begins now; no other has it."""
    return f"t{(now - _ZERO) // _MS:013}-{uuid.uuid4().hex}"


def began_at(session: str) -> dt.datetime | None:
    """When a session says that it began, by its agent's clock; None where it does not say."""
    found = _FORM.fullmatch(session)
    if found is None:
        return None
    try:
        return _ZERO + int(found[1]) * _MS
    except OverflowError:
        return None
