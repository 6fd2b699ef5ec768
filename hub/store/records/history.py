"""Events of objects and audit entries, as records."""

import datetime as dt
from typing import Final, NamedTuple, TypedDict


class StoredEvent(NamedTuple):
    """One event of an object: a field for each column of the table `events`, in its order."""

    id: int
    at: dt.datetime
    uid: str  # of what it is about
    kind: str
    namespace: str
    name: str
    type: str  # Normal | Warning
    reason: str
    message: str
    cluster: str = ""  # the member that it happened in or for
    epoch: int = 0  # of the job; 0: of none
    cause: str = ""  # the code of why
    subject: str = ""  # what of it: the name of a pod, the path of a field
    member_at: dt.datetime | None = None  # when, by the member's clock


class EventFacts(NamedTuple):
    """The fields of an event for rules and pages; its message is for people alone."""

    cluster: str = ""  # the member that it happened in or for
    epoch: int = 0  # of the job; 0: of none
    cause: str = ""  # the code of why
    subject: str = ""  # what of it: the name of a pod, the path of a field
    member_at: dt.datetime | None = None  # when, by the member's clock: shown, orders nothing


NO_FACTS: Final = EventFacts()


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
    cluster: str
    epoch: int
    cause: str
    subject: str
    member_at: dt.datetime | None


class AuditEntry(NamedTuple):
    """One entry of the audit: a field for each column of the table `audit`, in its order."""

    id: int
    at: dt.datetime
    principal: str
    verb: str
    object: str  # what it was done to, in words
    outcome: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
