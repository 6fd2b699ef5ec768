"""Reasons of agents, by what follows from them."""

from typing import Final

from hub.domain.workloads.demand import NAME_CONFLICT, REFUSED
from shared.consent import CREATE_FORBIDDEN, NO_TOKEN, NOT_ACCEPTED

# The member can not take this job, or its own rules forbid it; another may.
CLOSED: Final = frozenset({NOT_ACCEPTED, CREATE_FORBIDDEN})  # reported in seconds, then filtered
_NO_KIND: Final = frozenset({"KindNotServed", "KindForbidden", "KindNotReadable", "KindNotHeld"})
# No report says that the member's people changed it: the job is tried again, ever more seldom.
MAY_CHANGE: Final = frozenset({NAME_CONFLICT, NO_TOKEN})
ELSEWHERE: Final = CLOSED | _NO_KIND | {NAME_CONFLICT, REFUSED, NO_TOKEN}
# The member's API server refused the manifest itself; no other would take it.
HOPELESS: Final = frozenset({"Invalid"})
# Steps of an agent's work that are no reason to show anybody.
ROUTINE: Final = frozenset(
    {"Creating", "Applying", "Observing", "Vanished", "EarlierWave", "Proving"}
)
