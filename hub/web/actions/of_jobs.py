"""Actions on a job: cancel, hold, release, change priority, resubmit, delete. Computed from read data."""

import shlex
from collections.abc import Sequence
from typing import Final

from hub.domain.access import UNKNOWN, Noun, Rights, Verb
from hub.domain.workloads.chains import HELD_FOR_OTHERS, LinkState
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import TERMINAL, State, WithdrawTo
from hub.web.actions.preview import Act, ApiCall, Field, FieldChoice, Preview, freed, starting
from shared.documents import Json

_ON_CLUSTER: Final = frozenset({"Placed", "Offered", "Applied", "Running", "Unknown"})
_ENDS: Final = "The record stays, and you can submit it again under another name."
MAY: Final = {
    "cancel": (Verb.CHANGE, Noun.JOBS),
    "hold": (Verb.CHANGE, Noun.JOBS),
    "release": (Verb.CHANGE, Noun.JOBS),
    "priority": (Verb.CHANGE, Noun.JOBS),
    "resubmit": (Verb.CREATE, Noun.JOBS),
    "delete": (Verb.CHANGE, Noun.JOBS),
}
NOTHING: Final = ApiCall("", "")
_BARE: Final = "Workload"  # its specification has its priority, and a copy needs its owner
_LABELS: Final = {
    "cancel": "Cancel…",
    "hold": "Hold…",
    "release": "Release…",
    "priority": "Priority…",
    "resubmit": "Resubmit…",
    "delete": "Delete…",
}


def offered(rights: Rights, job: Json) -> list[Act]:
    """The user's allowed actions on this job in its present state."""
    return [
        Act(
            verb, _LABELS[verb], f"/actions/jobs/{job['uid']}/{verb}", verb in {"cancel", "delete"}
        )
        for verb in _LABELS
        if _makes_sense(verb, job) and _may(rights, verb, job)
    ]


def _may(rights: Rights, verb: str, job: Json) -> bool:
    owner = "" if job["owner"] == UNKNOWN else job["owner"]
    return rights.allows(*MAY[verb], job["namespace"], job["queue"], owner)


def _makes_sense(verb: str, job: Json) -> bool:
    state, going = job["state"], job["withdrawTo"]
    ended = state in TERMINAL
    held = state == State.HELD or going == WithdrawTo.HELD
    here = job["origin"] == Origin.REST
    stays = not ended and going not in {WithdrawTo.CANCELLED, WithdrawTo.DELETED}
    if job["deletedAt"]:
        return verb == "resubmit" and job["kind"] != _BARE
    sense: dict[str, bool] = {
        "cancel": stays,
        "hold": not ended and not held and going in {WithdrawTo.NOTHING, WithdrawTo.PENDING},
        "release": held or state == State.DEACTIVATED,
        "priority": here and job["kind"] != _BARE and stays,
        "resubmit": job["kind"] != _BARE,
        "delete": here,
    }
    return sense[verb]


def cancel(job: Json, told: Json) -> Preview:
    """`told`: as `explain.if_gone` has it."""
    return Preview(
        title=f"Cancel {_name(job)}?",
        confirm="Cancel the job",
        call=ApiCall("POST", f"/v1/jobs/{job['uid']}/cancel"),
        command=f"roadstead jobs cancel {_typed(job)}",
        sentences=[*_stopping(job, "Cancelled"), *freed(told), _ENDS],
        lists=starting(told),
        harm=True,
        refusal=_ended(job),
    )


def delete(job: Json, told: Json) -> Preview:
    """`told`: as `explain.if_gone` has it."""
    stop = [] if job["state"] in TERMINAL else _stopping(job, "Deleted")
    name_free = "Its name is free again then; its history is kept for a while."
    return Preview(
        title=f"Delete {_name(job)}?",
        confirm="Delete the job",
        call=ApiCall("DELETE", f"/v1/jobs/{job['uid']}", {"preconditions": {"uid": job["uid"]}}),
        command=f"roadstead jobs delete {_typed(job)}",
        sentences=[*stop, *freed(told), name_free],
        lists=starting(told),
        harm=True,
    )


def hold(job: Json, told: Json) -> Preview:
    """`told`: as `explain.if_gone` has it."""
    if job["state"] in _ON_CLUSTER or job["state"] == "Reserved":
        said = [
            *_stopping(job, "Held"),
            *freed(told),
            "Once released it starts again: unsaved work is lost.",
        ]
    else:
        said = ["It leaves the line: the scheduler skips it until a person releases it."]
    return Preview(
        title=f"Hold {_name(job)}?",
        confirm="Hold the job",
        call=ApiCall("POST", f"/v1/jobs/{job['uid']}/hold"),
        command=f"roadstead jobs hold {_typed(job)}",
        sentences=said,
        lists=starting(told),
        refusal=_ended(job),
    )


def release(job: Json, planned: Json | None, why_not: str = "") -> Preview:
    """`planned`: what the engine says of it, were it in line now. `why_not`: why the API would refuse it."""
    said = [f"It waits again in queue {job['queue']}, in its place by priority and time."]
    if job["state"] == State.WITHDRAWING:
        said = [f"It still leaves {job['cluster']}; then it waits again instead of being held."]
    if others := _waits_for(job):
        if job["state"] == State.HELD and job["reason"] not in HELD_FOR_OTHERS:
            said, planned = [f"It is held for nothing else then, and waits for {others}."], None
        else:
            said.insert(0, f"It does not wait for {others}.")
    ended = job["state"] in TERMINAL and job["state"] != State.DEACTIVATED
    return Preview(
        title=f"Release {_name(job)}?",
        confirm="Release the job",
        call=ApiCall("POST", f"/v1/jobs/{job['uid']}/release"),
        command=f"roadstead jobs release {_typed(job)}",
        sentences=[*said, *_expected(planned)],
        refusal=_ended(job) if ended else why_not,
    )


def _waits_for(job: Json) -> str:
    """Names of those that it waits for still, or in vain; "" for none."""
    open_ = (LinkState.WAITING, LinkState.NEVER)
    return ", ".join(each["name"] for each in job.get("after") or () if each["state"] in open_)


def priority(
    job: Json, classes: Sequence[tuple[str, int]], chosen: str, planned: Json | None
) -> Preview:
    """`classes`: those that there are, with their values. `planned`: the engine's answer with `chosen`."""
    now = job["priorityClass"]
    value = dict(classes).get(chosen, 0)
    choices = [FieldChoice("", "none (0)", chosen == "")] + [
        FieldChoice(name, f"{name} ({number})", name == chosen) for name, number in classes
    ]
    if chosen == now:
        said = [f"It has priority {job['priority']}{f' of class {now}' if now else ''} now."]
    else:
        said = [f"Its priority becomes {value}; it is {job['priority']} now."]
    if job["state"] in _ON_CLUSTER:
        said.append(
            "It stays where it is: priority decides who goes when room is made for others, and its place "
            "in the line should it wait again."
        )
    else:
        said += _expected(planned)
    field = Field(
        "class", "Priority class", "priorityClass", "select", chosen, choices, again=True
    )
    return Preview(
        title=f"Change the priority of {_name(job)}?",
        confirm="Change the priority",
        call=ApiCall("POST", f"/v1/jobs/{job['uid']}/priority", {"priorityClass": chosen}),
        command=f"roadstead jobs priority {_typed(job)} {shlex.quote(chosen or '-')}",
        sentences=said,
        fields=[field],
        refusal=_ended(job),
    )


def resubmit(
    job: Json, copy: Json, planned: Json | None, manifest: str, *, hidden: bool
) -> Preview:
    """`copy`: the Job to be submitted; `planned`: what the engine says of it; `manifest`: it, to be read."""
    name = copy["metadata"]["name"]
    refusal = (
        "Its environment variables are hidden from you, and a copy would run without them."
        if hidden
        else ""
    )
    return Preview(
        title=f"Submit {_name(job)} again?",
        confirm="Submit the copy",
        call=ApiCall("POST", "/v1/jobs", copy, key=True),
        command=f"roadstead jobs resubmit {_typed(job)}",
        sentences=[
            "A copy is submitted as the job was received, under a new name; the first one does not change.",
            *_expected(planned),
        ],
        fields=[Field("name", "Name of the copy", "metadata.name", "text", name)],
        manifest=manifest,
        refusal=refusal,
    )


def _name(job: Json) -> str:
    return f"{job['namespace']}/{job['name']}"


def _typed(job: Json) -> str:
    return shlex.quote(_name(job))


def _stopping(job: Json, then: str) -> list[str]:
    """The effect on the job's present run."""
    state, cluster = job["state"], job["cluster"]
    if state == "Unknown":
        return [
            f"Its cluster {cluster} does not answer: it ends {then} once its agent confirms its end.",
            "Until then it holds its quota.",
        ]
    if state == "Withdrawing":
        return [f"It is being withdrawn from {cluster} already; then it ends {then}."]
    if state in _ON_CLUSTER and cluster:
        pods = f"its pods there are stopped, and it ends {then} once that is certain"
        return [f"It is {state} on {cluster}: {pods}."]
    return [f"It is {state} and nothing of it is on any cluster: it ends {then} at once."]


def _expected(planned: Json | None) -> list[str]:
    if not planned or not planned.get("message"):
        return []
    before = planned.get("waitingBefore") or 0
    line = f" {before} would be considered before it in its queue." if before else ""
    return [f"As things are now: {planned['message']}.{line}"]


def _ended(job: Json) -> str:
    return f"It has ended: {job['state']}." if job["state"] in TERMINAL else ""
