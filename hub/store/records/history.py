"""What happened to objects, and who did what, as records."""

import datetime as dt
from typing import NamedTuple, TypedDict


class StoredEvent(NamedTuple):
    """What happened to one object: a field for each column of the table `events`, in its order."""

    id: int
    at: dt.datetime
    uid: str  # of what it is about
    kind: str
    namespace: str
    name: str
    type: str  # Normal | Warning
    reason: str
    message: str


class NewEvent(TypedDict):
    """An event that its transaction writes as it commits."""

    at: dt.datetime
    uid: str
    kind: str
    namespace: str
    name: str
    type: str
    reason: str
    message: str


class AuditEntry(NamedTuple):
    """Who did what: a field for each column of the table `audit`, in its order."""

    id: int
    at: dt.datetime
    principal: str
    verb: str
    object: str  # what it was done to, in words
    outcome: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
