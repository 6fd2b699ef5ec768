"""The last lines and the exit reason of pods that failed, kept with the job: as events among its others.

They are asked for after the job's end is stored, so that no result waits for them or depends on them. They
are kept as long as events are, without the values of environment variables, and once for each job.
"""

import datetime as dt
from collections.abc import Collection
from typing import Final

from hub.services.live import places
from hub.services.live.shown import Hiding
from hub.store import events, jobs, workloads
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.wire.streams_v1 import LAST_BYTES, LAST_LINES, MOST_FAILED, PodTold, StreamPart

POD_FAILED: Final = "PodFailed"  # reason of the event; lines follow the first one of its message
LOOKS_BACK: Final = dt.timedelta(seconds=60)
_MOST_EVENTS: Final = 500
_LOOKED_AT: Final = 500


def due(
    tx: Transaction,
    heard: Collection[str],
    without: Collection[str],
    most: int,
    suspect_after_s: float,
) -> list[places.PodsPlace]:
    """At most so many jobs that failed in the last minute in a cluster that is `heard`.

    None of those in `without`, and of the newest hundreds alone.
    """
    found: list[places.PodsPlace] = []
    for uid, cluster in jobs.failed_since(tx, tx.now - LOOKS_BACK, _LOOKED_AT):
        if uid in without or cluster not in heard:
            continue
        if len(found) == most:
            break
        try:
            found.append(places.find(tx, uid, (), suspect_after_s))
        except Rejected:
            continue  # its cluster is silent, or gone
    return found


def keep(tx: Transaction, place: places.PodsPlace, told: StreamPart) -> int:
    """Keep what an agent told of pods that failed; how many. Nothing, where that was done before."""
    row = workloads.get(tx, place.uid)
    known = events.list_events(tx, uid=place.uid, limit=_MOST_EVENTS, newest_first=True)
    if row is None or any(each.reason == POD_FAILED for each in known):
        return 0
    hiding = Hiding(place.hidden)
    for pod in told.pods[:MOST_FAILED]:
        words = hiding("\n".join([_how(pod), *_lines(told, pod)]))
        tx.say(row, POD_FAILED, words, warning=True)
    return len(told.pods[:MOST_FAILED])


def _how(pod: PodTold) -> str:
    """How a pod failed, as one line."""
    ended = [
        f"container {each.name} exited with code {each.exit_code}"
        + (f" ({each.reason})" if each.reason not in {"", "Error"} else "")
        for each in pod.containers
        if each.state == "terminated" and each.exit_code
    ]
    words = "; ".join(ended[:5]) or pod.reason or pod.phase
    return f"pod {pod.name} on {pod.node or 'no node'}: {words}".replace("\n", " ").replace(
        "\0", "\ufffd"
    )


def _lines(told: StreamPart, pod: PodTold) -> list[str]:
    """Its last lines, within bounds, whatever an agent says."""
    found = [each.line for each in told.lines if each.pod == pod.name and not each.note]
    kept: list[str] = []
    left = LAST_BYTES
    for line in reversed(found[-LAST_LINES:]):
        left -= len(line.encode())
        if left < 0:
            break
        kept.insert(0, line.replace("\n", " ").replace("\0", "\ufffd"))
    return kept
