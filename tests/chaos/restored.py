"""What a restored hub can not know: which ends and runs of the lost time bind nobody. Pure."""

from tests.chaos.history import History, Json
from tests.chaos.sighted import TERMINAL, Copy

_ENDED = TERMINAL - {"Deactivated"}  # that may have been released in the lost time
_THERE = frozenset({"Offered", "Applied", "Running", "Unknown", "Withdrawing"})


def is_unknown(history: History, copy: Copy) -> bool:
    """Was this Job made before a restore, of a job that the restored hub did not have in that member?"""
    return any(
        not 0.0 < restore["up"] < copy.created
        and not _knows(restore["jobs"].get(copy.owner), copy)
        for restore in history.ledger.restores
    )


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
