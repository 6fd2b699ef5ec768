"""Admission checks: who waits for which answer, and the answer."""

from typing import Annotated, Literal, get_args

from hub.api.models.base import Body, Instant, Kubernetes, ListPage, Model, example_of, refused_as
from hub.api.models.jobs import JobAdmission
from hub.domain.workloads.states import State
from shared.reject_codes import RejectCode

CheckAnswer = Literal["Pending", "Ready", "Retry", "Rejected"]


class CheckState(Model):
    """The answer for one check."""

    name: str
    controller_name: str
    """Of its AdmissionCheck; empty if there is none of that name."""
    state: CheckAnswer
    message: str
    at: Instant | None
    requeue_after_seconds: int | None
    retry_count: int
    pod_set_updates: list[Kubernetes]


class JobChecks(Model):
    """The admission checks of one job."""

    uid: str
    state: State
    cluster: str
    items: list[CheckState]


class OpenCheck(CheckState):
    """A workload that holds quota and waits for a check's answer."""

    uid: str
    kind: str
    namespace: str
    workload: str
    queue: str
    cluster_queue: str
    cluster: str
    admission: JobAdmission | None
    reserved_at: Instant | None


class OpenCheckList(ListPage):
    """A page of open checks, by uid of the workload."""

    items: list[OpenCheck]


class NewCheckState(Body):
    """The answer to a check."""

    model_config = example_of({"state": "Ready", "message": "paid"})

    state: Annotated[
        CheckAnswer,
        refused_as(RejectCode.INVALID_STATE, f"must be one of {', '.join(get_args(CheckAnswer))}"),
    ]
    message: str | None = None
    requeue_after_seconds: int | None = None
    """With Retry: not before."""
    retry_count: int | None = None
    pod_set_updates: list[Kubernetes] | None = None
    """Labels, annotations, node selectors and tolerations that the pods get."""


class ObjectStatus(Body):
    """The conditions of an AdmissionCheck."""

    model_config = example_of(
        {
            "conditions": [
                {"type": "Active", "status": "True", "reason": "Served", "message": "it answers"}
            ]
        }
    )

    conditions: list[Kubernetes]
    """Each with `type`, `status`, `reason` and, if need be, `message`."""
