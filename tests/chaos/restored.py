"""Ends and runs of the lost time that a restored hub can not know. Pure."""

from tests.chaos.history import History, Json, Restore
from tests.chaos.sighted import STAMP_S, TERMINAL, Copy

_ENDED = TERMINAL - {"Deactivated"}  # that may have been released in the lost time
_HEARS_S = (
    8.0  # the lease of these agents: an agent may act that long on what the lost hub told it
)
_THERE = frozenset({"Offered", "Applied", "Running", "Unknown", "Withdrawing"})


def is_unknown(history: History, copy: Copy) -> bool:
    """Can a restored hub not know of this Job, or of how it ended?

    It was made before the restore, of a job that the hub then did not have in that member; or it ended in the
    lost time, and was deleted before the database was accepted: agents do until then as they were told.
    """
    return any(
        not 0.0 < restore["up"] < copy.created
        and (not _knows(restore["jobs"].get(copy.owner), copy) or _came_and_went(restore, copy))
        for restore in history.ledger.restores
    )


def is_of_lost_time(history: History, created: float) -> bool:
    """Was an object created when the lost hub, or an agent that it had told, may have done it?

    The restored hub leaves such an object alone, and shows it only if it is a Job.
    """
    return any(
        restore["backup"] - STAMP_S <= created <= (restore["accepted"] or restore["up"]) + _HEARS_S
        for restore in history.ledger.restores
    )


def _came_and_went(restore: Restore, copy: Copy) -> bool:
    told = restore["backup"] - STAMP_S <= copy.ended <= restore["stopped"]
    return told and copy.gone and 0.0 < copy.deleting <= (restore["accepted"] or restore["up"])


def _knows(job: Json | None, copy: Copy) -> bool:
    if job is None:
        return False
    return job["state"] in _ENDED or (job["state"] in _THERE and job["cluster"] == copy.member)


def completed_for(history: History, first: Copy, later: Copy) -> bool:
    """Does the completion of one Job forbid that a later one runs?

    Not where the restored hub does not know of it and the Job was gone when the later one was made: then a
    release runs the job again.
    """
    if not is_unknown(history, first):
        return True
    return not (first.gone and first.deleting and first.deleting <= later.created)
