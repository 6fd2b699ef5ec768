"""Orders an agent's reports: decides which counts, in the transaction that stores it.

Several hubs may answer one agent, each with its own memory of the session. The cluster's row decides:
whose session speaks, and how far that has come.
"""

import enum
from collections.abc import Collection, Sequence

from hub.services.access.credentials import REVOKED
from hub.store import clusters
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import Observed, Refused


def superseded() -> Rejected:
    """The reply to an agent whose session is not the live one of its cluster."""
    text = "another agent's session is live for this cluster now"
    return Rejected(RejectCode.SESSION_SUPERSEDED, text)


def has_left() -> Rejected:
    """The reply to an agent whose cluster has left since the hub accepted its request."""
    return Rejected(RejectCode.REVOKED, REVOKED)


class ReportPlace(enum.Enum):
    """Of a report among those of its session."""

    NEW = enum.auto()
    STORED = enum.auto()  # the same request came before


class ReportOrder:
    """Of the sessions of these clusters. `newest`: the last request of each that this transaction stores."""

    def __init__(self, tx: Transaction, names: Collection[str]) -> None:
        self._speaking = clusters.sessions(tx, names)
        self.newest: dict[str, int] = {}

    def place(self, cluster: str, session: str, seq: int) -> ReportPlace | Rejected:
        """The position of a report. Rejections: Revoked, SessionSuperseded, StaleSequence."""
        if not session:
            return ReportPlace.NEW
        speaking = self._speaking.get(cluster)
        if speaking is None:
            return has_left()
        if speaking.session != session:
            return superseded()
        last = self.newest.get(cluster, speaking.seq)
        if seq < last:
            text = f"request {seq} after {last}"
            return Rejected(RejectCode.STALE_SEQUENCE, text, "seq")
        if seq == last:
            return ReportPlace.STORED
        self.newest[cluster] = seq
        return ReportPlace.NEW


def last_words(entries: Sequence[Observed]) -> tuple[dict[str, Observed], list[Refused]]:
    """The last entry on each uid; those that say of one epoch both that it is gone and that it is not."""
    newest: dict[str, Observed] = {}
    refused: list[Refused] = []
    for entry in entries:
        held = newest.get(entry.uid)
        same = held is not None and held.epoch == entry.epoch
        if held is not None and same and len({_result(held), _result(entry), None}) > 2:
            text = "the report says both succeeded and failed: the first counts"
            refused.append(Refused(uid=entry.uid, code="ContradictoryStatus", detail=text))
        elif held is not None and same and _contradict(held, entry):
            text = "the report says both gone and present: it counts as present"
            refused.append(Refused(uid=entry.uid, code="Contradiction", detail=text))
            newest[entry.uid] = held if entry.phase == "Gone" else entry
        else:
            newest[entry.uid] = entry
    return newest, refused


def _contradict(one: Observed, other: Observed) -> bool:
    return (one.phase == "Gone") is not (other.phase == "Gone")


def _result(entry: Observed) -> str | None:
    return entry.job.result if entry.job is not None else None
