"""Jobs: submit, list, look at, hold, release, cancel, delete."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roadstead.calls.bodies import body_of
from roadstead.errors import Rejected, SomeRejected
from roadstead.media_types import type_of
from roadstead.models.explanation import Explanation
from roadstead.models.jobs import Event, Job, Outcome, Outcomes, WholeJob
from roadstead.models.record import Json, Malformed
from roadstead.paths import job_path, text
from roadstead.steps import Flow, Found, Request, Steps, items, items_of, one, pages

Manifest = Mapping[str, Any] | bytes | str
MOST_JOBS = 1000  # in a request
MOST_BYTES = 4 << 20  # … which mostly keeps it within the hub's bound of values too
_TOO_MUCH = frozenset({"BodyTooLarge", "TooManyValues", "TooManyDocuments"})


def submit(manifest: Manifest, *, key: str | None = None) -> Steps[Job]:
    """Submit one Job: a dictionary, or JSON or YAML; returns it as the hub holds it.

    `key` is the Idempotency-Key: the same key and body give the same answer. One is made up when none
    is given, so that a repeated request after a cut connection submits once.
    """
    if not isinstance(manifest, Mapping | bytes | str):
        raise TypeError(f"a manifest is a mapping, bytes or a str, not {type(manifest).__name__}")
    body = _text(manifest)
    ask = Request("POST", "/v1/jobs", {}, body, type_of(body), _keyed(key or str(uuid.uuid4())))
    return one(ask, Job)


def submit_many(
    manifests: Iterable[Manifest], *, key: str | None = None, check: bool = True
) -> Steps[Outcomes]:
    """Submit any number of Jobs, many to a request; returns what became of each, in order.

    Dictionaries, or JSON; also Workloads that name their queue. All are sent, whatever is refused.
    Raises SomeRejected where any was refused, unless `check` is False: its `outcomes` tell of each.
    With `key` the whole may be repeated: parts already taken are answered again.
    """
    outcomes: list[Outcome] = []
    for number, chunk in enumerate(_chunks(manifests)):
        outcomes += yield from _submit_chunk(chunk, len(outcomes), _part_of(key, number))
    if check and (refused := [each for each in outcomes if each.refusal]):
        raise SomeRejected(Outcomes(outcomes), refused)
    return Outcomes(outcomes)


def submit_iter(manifests: Iterable[Manifest], *, key: str | None = None) -> Flow[Outcome]:
    """`submit_many` for more than fits in memory: reads and sends as the outcomes are iterated.

    Nothing is sent before that, and nothing after an iteration that is broken off. Refusals are
    outcomes, and raise nothing.
    """
    index = 0
    for number, chunk in enumerate(_chunks(manifests)):
        outcomes = yield from _submit_chunk(chunk, index, _part_of(key, number))
        index += len(outcomes)
        for each in outcomes:
            yield Found(each)


def jobs(
    *,
    namespace: str | None = None,
    queue: str | None = None,
    state: str | None = None,
    cluster: str | None = None,
    owner: str | None = None,
    name: str | None = None,
    label_selector: str | None = None,
    limit: int | None = None,
) -> Flow[Job]:
    """Jobs that match, newest first; `name` is a prefix, `state` one of JobState's."""
    filters = {
        "namespace": namespace,
        "queue": queue,
        "state": state,
        "cluster": cluster,
        "owner": owner,
        "name": name,
        "labelSelector": label_selector,
    }
    return pages("/v1/jobs", filters, Job, limit)


def job(name: str) -> Steps[WholeJob]:
    """One job by uid or by `namespace/name` (the newest that had the name)."""
    return one(Request("GET", job_path(name)), WholeJob)


def explain(name: str) -> Steps[Explanation]:
    """Where a job is and why: position, blocking rule in numbers, verdict per cluster."""
    path = yield from by_uid(name)
    return (yield from one(Request("GET", f"{path}/explain"), Explanation))


def job_events(name: str, *, limit: int = 500) -> Steps[list[Event]]:
    """What happened to a job lately, oldest first; at most `limit` (1 to 500) events."""
    path = yield from by_uid(name)
    return (yield from items(Request("GET", f"{path}/events", {"limit": limit}), Event))


def cancel(name: str) -> Steps[WholeJob]:
    """Stop a job wherever it is; it ends Cancelled once it is certain that nothing runs."""
    return _act(name, "POST", "/cancel")


def hold(name: str) -> Steps[WholeJob]:
    """Hold a job back until it is released; one that runs is taken back from its cluster."""
    return _act(name, "POST", "/hold")


def release(name: str) -> Steps[WholeJob]:
    """Let a job wait again that is held or was deactivated.

    One that a person holds and that waits for other jobs besides goes on waiting for them; released once
    more it goes regardless. So this is not sent again by itself where the connection ends before the answer.
    """
    return _act(name, "POST", "/release", repeatable=False)


def set_priority(name: str, priority_class: str) -> Steps[WholeJob]:
    """Give a Job another WorkloadPriorityClass, or none where that is empty."""
    path = yield from by_uid(name)
    body = body_of({"priorityClass": text(priority_class)})
    ask = Request("POST", f"{path}/priority", body=body, repeatable=True)
    return (yield from one(ask, WholeJob))


def delete_job(name: str) -> Steps[WholeJob]:
    """Stop a job wherever it is and free its name; its history is kept for a while."""
    return _act(name, "DELETE", "")


def by_uid(name: str) -> Steps[str]:
    """The path of a job by its uid: a name may be another's by the time a request is repeated."""
    if "/" in text(name):
        found = yield from job(name)
        name = found.uid
    return job_path(name)


def _act(name: str, method: str, verb: str, *, repeatable: bool = True) -> Steps[WholeJob]:
    path = yield from by_uid(name)
    return (yield from one(Request(method, path + verb, repeatable=repeatable), WholeJob))


def _submit_chunk(lines: list[bytes], first: int, key: str) -> Steps[list[Outcome]]:
    """Outcomes of one request; where it is refused as a whole, all of its Jobs are.

    One that is more than the hub takes at a time is halved: nothing of it was taken.
    """
    body = b"\n".join(lines)
    ask = Request("POST", "/v1/jobs:batch", {}, body, "application/x-ndjson", _keyed(key))
    try:
        answer = yield ask
    except Rejected as refusal:
        if refusal.code not in _TOO_MUCH or len(lines) == 1:
            return [Outcome(first + place, refusal=refusal) for place in range(len(lines))]
        half = len(lines) // 2
        head = yield from _submit_chunk(lines[:half], first, f"{key}/head")
        return head + (yield from _submit_chunk(lines[half:], first + half, f"{key}/tail"))
    results = items_of(answer)
    if len(results) != len(lines):
        raise Malformed(f"it told of {len(results)} jobs where {len(lines)} were submitted")
    said = _warnings(answer)
    return [
        _outcome(first + place, told, said.get(place, [])) for place, told in enumerate(results)
    ]


def _warnings(answer: Json) -> dict[int, list[str]]:
    """What is said of jobs, by their place. Raises Malformed."""
    said: dict[int, list[str]] = {}
    try:
        for warning in answer.get("warnings") or ():
            said.setdefault(warning["index"], []).append(warning["message"])
    except (TypeError, KeyError) as fault:
        raise Malformed("its warnings are none") from fault
    return said


def _outcome(index: int, told: Any, warnings: list[str]) -> Outcome:
    if not isinstance(told, dict):
        raise Malformed("what it told of a job is no object")
    told = {key: value for key, value in told.items() if key != "index"}
    if "code" in told:
        return Outcome(index, refusal=Rejected(422, told))
    if warnings:
        told["warnings"] = [*(told.get("warnings") or ()), *warnings]
    return Outcome(index, job=Job.of(told))


def _chunks(manifests: Iterable[Manifest]) -> Iterator[list[bytes]]:
    """The manifests as lines of JSON, as many together as go into one request. Raises TypeError for one."""
    if isinstance(manifests, Mapping | bytes | str):
        raise TypeError("submit_many and submit_iter take several manifests; submit takes one")
    chunk: list[bytes] = []
    size = 0
    for manifest in manifests:
        line = _text(manifest).replace(b"\r", b" ").replace(b"\n", b" ")
        line = line if line.strip() else b"null"  # a blank line is no entry; this one is refused
        if chunk and (len(chunk) == MOST_JOBS or size + len(line) > MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line) + 1
    if chunk:
        yield chunk


def _part_of(key: str | None, number: int) -> str:
    """The key of one request of several: the first has the key itself."""
    if key is None:
        return str(uuid.uuid4())
    return f"{key}/{number}" if number else key


def _keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def _text(manifest: Manifest) -> bytes:
    if isinstance(manifest, bytes):
        return manifest
    if isinstance(manifest, str):
        return manifest.encode()
    return body_of(manifest)
