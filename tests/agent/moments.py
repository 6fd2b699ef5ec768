"""Moments and live Jobs that decisions are made about."""

import datetime as dt

from agent.decide.decision import Moment
from agent.decide.next_step import decide
from agent.objects.manifests import unstarted
from agent.works.tracked import TrackedWork
from shared import labels
from tests.agent.scripted_hub import HUB_ID, a_job

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def a_moment(**changes):
    given = {
        "hub_id": HUB_ID,
        "now": 1000.0,
        "wall": NOW,
        "may_start": True,
        "settled_at": 900.0,
        **changes,
    }
    return Moment(**given)


def a_live_job(
    work=None, *, ended_ago=None, deleting=False, finalizers=None, waiting=False, **changes
):
    """A Job in the member. `finalizers`: None for ours alone; `waiting`: it was never started."""
    work = work or a_job(**changes)
    manifest = unstarted(work, HUB_ID) if waiting else work.manifest
    kept_by = [labels.MEMBER_FINALIZER] if finalizers is None else finalizers
    metadata = {
        **manifest["metadata"],
        "uid": "m-1",
        "resourceVersion": "7",
        "finalizers": kept_by,
    }
    live = {**manifest, "metadata": metadata, "status": {}}
    if ended_ago is not None:
        at = (NOW - dt.timedelta(seconds=ended_ago)).isoformat()
        done = {"type": "Complete", "status": "True", "lastTransitionTime": at}
        live["status"] = {"conditions": [done], "completionTime": at}
    if deleting:
        live["metadata"]["deletionTimestamp"] = NOW.isoformat()
    return live


def settled(work, seen, **moment):
    decision = decide(work, seen, a_moment(**moment))
    return decision.do, decision.phase, decision.reason


def tracking(live=None, work=None, **fields):
    """What is remembered of work u-1, whose object, if any, was seen at instant 10."""
    tracked = TrackedWork("u-1", work=work or a_job(), **fields)
    if live is not None:
        tracked.is_here(live, 10.0)
    return tracked
