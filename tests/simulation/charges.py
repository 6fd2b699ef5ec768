"""What the store charges jobs for, judged by the pods that members show."""

from collections.abc import Iterable, Mapping
from typing import Any

from hub.domain.workloads.states import CHARGED
from shared import labels
from tests.simulation.world import Violation

Object = dict[str, Any]
_CHARGED = frozenset(map(str, CHARGED))


def granted(row: Object) -> int:
    """The number of pods that a job was admitted with. In the model that is one, whatever its size."""
    return 1 if row.get("admission") is None else sum(each["count"] for each in _pod_sets(row))


def charged(row: Object) -> int:
    """The number of pods that a job is charged for: without those that it gave back."""
    return granted(row) - given_back(row)


def given_back(row: Object) -> int:
    """The number of pods that a running job has given back."""
    return sum(each.get("reclaimed", 0) for each in _pod_sets(row))


def check_charges(rows: Iterable[Object], members: Mapping[str, Any], limit: int) -> int:
    """R-09, R-10: no more is charged than allowed, and only succeeded pods are given back; the charge."""
    holding = [row for row in rows if row["state"] in _CHARGED]
    total = sum(map(charged, holding))
    if total > limit:
        raise Violation("R-09", f"{total} are charged, {limit} are allowed")
    for row in filter(given_back, holding):
        job = _job_of(row, members[row["cluster"]].jobs.values())
        if job is not None and job["status"].get("succeeded", 0) < given_back(row):
            text = f"{row['uid']} gave {given_back(row)} pods back, and fewer have succeeded"
            raise Violation("R-10", text)
    return total


def _job_of(row: Object, jobs: Iterable[Object]) -> Object | None:
    """The Job of a row's epoch; None if its member has none."""
    wanted = {labels.JOB_UID: row["uid"], labels.EPOCH: str(row["epoch"])}
    return next((job for job in jobs if wanted.items() <= _labels(job).items()), None)


def _labels(job: Object) -> dict[str, str]:
    return job["metadata"].get("labels") or {}


def _pod_sets(row: Object) -> list[Object]:
    return (row.get("admission") or {}).get("podSets", [])
