"""Admission checks: open ones, and answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from roadstead.calls.bodies import body_of
from roadstead.calls.jobs import by_uid
from roadstead.models.checks import JobChecks, OpenCheck
from roadstead.models.objects import KubernetesObject
from roadstead.paths import part
from roadstead.steps import Flow, Request, Steps, one, pages


def checks(
    *, check: str | None = None, controller: str | None = None, limit: int | None = None
) -> Flow[OpenCheck]:
    """List open admission checks as pairs of job and check."""
    return pages("/v1/checks", {"check": check, "controller": controller}, OpenCheck, limit)


def set_check(
    name: str,
    check: str,
    state: str,
    *,
    message: str | None = None,
    requeue_after_s: int | None = None,
    retry_count: int | None = None,
    pod_set_updates: Sequence[Mapping[str, Any]] | None = None,
) -> Steps[JobChecks]:
    """Answer a job's admission check: Pending, Ready, Retry or Rejected. Returns the job's checks."""
    given = {
        "state": state,
        "message": message,
        "requeueAfterSeconds": requeue_after_s,
        "retryCount": retry_count,
        "podSetUpdates": pod_set_updates,
    }
    path = yield from by_uid(name)
    body = body_of({key: each for key, each in given.items() if each is not None})
    return (yield from one(Request("PUT", f"{path}/checks/{part(check)}", body=body), JobChecks))


def serve_check(check: str, *, on: bool = True, message: str = "") -> Steps[KubernetesObject]:
    """Report, as its controller, that an AdmissionCheck is served or not: condition Active."""
    status, reason = ("True", "Active") if on else ("False", "Inactive")
    condition = {"type": "Active", "status": status, "reason": reason, "message": message}
    path = f"/v1/objects/kueue.x-k8s.io/AdmissionCheck/{part(check)}/status"
    return one(Request("PUT", path, body=body_of({"conditions": [condition]})), KubernetesObject)
