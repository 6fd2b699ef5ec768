"""Marks on Jobs are told before anything that the hub might remove for not knowing it."""

import pytest

from agent.works.marks import Marks
from shared import labels
from tests.agent.scripted_hub import a_job

pytestmark = pytest.mark.anyio


async def test_a_mark_found_on_a_job_is_told_with_the_job(member):
    """Agent and hub start anew together, the hub from a backup: the Job's mark gives it away in time."""
    job = a_job("u-9", run_seconds="600").manifest
    job["metadata"]["annotations"][labels.MARK] = "run-7:42:proof"
    job["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    await member.kube.create(job, field_manager="roadstead")
    member.hub.removes_strays = False
    member.start()
    await member.hub.seen("u-9", "Applied", "Orphan")
    told = [mark.run for request in member.hub.requests for mark in request.marks]
    assert "run-7" in told


def carrying(run: str):
    """An object with a mark of this run."""
    return {"metadata": {"annotations": {labels.MARK: f"{run}:42:proof"}}}


async def test_a_mark_found_while_a_request_is_answered_is_told_in_the_next():
    """An answer acknowledges the marks of its own request, and no other."""
    marks = Marks()
    marks.found(carrying("run-1"))
    assert [mark.run for mark in marks.tell(everything=False)] == ["run-1"]
    marks.found(carrying("run-2"))
    marks.answered(None)
    assert [mark.run for mark in marks.tell(everything=False)] == ["run-2"]
    marks.answered(None)
    assert marks.tell(everything=False) == []
