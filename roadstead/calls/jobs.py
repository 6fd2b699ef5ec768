"""Jobs: submit, list, show, hold, release, cancel, delete."""

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
    """Submit one Job: a dictionary, or JSON or YAML; returns the hub's job.

    `key` is the Idempotency-Key: the same key and body give the same answer. Without one, the client
    generates a key, so that a resent request after a dropped connection submits once.
    """
    if not isinstance(manifest, Mapping | bytes | str):
        raise TypeError(f"a manifest is a mapping, bytes or a str, not {type(manifest).__name__}")
    body = _text(manifest)
    ask = Request("POST", "/v1/jobs", {}, body, type_of(body), _keyed(key or str(uuid.uuid4())))
    return one(ask, Job)


def submit_many(
    manifests: Iterable[Manifest], *, key: str | None = None, check: bool = True
) -> Steps[Outcomes]:
    """Submit any number of Jobs in batches; returns the outcome of each, in order.

    Accepts dictionaries or JSON; also Workloads that name their queue. Sends all, even if some are
    rejected. Raises SomeRejected if any was rejected, unless `check` is False: its `outcomes` has each
    result. With `key` you may repeat the whole call: accepted parts get the same answer.
    """
    outcomes: list[Outcome] = []
    for number, chunk in enumerate(_chunks(manifests)):
        outcomes += yield from _submit_chunk(chunk, len(outcomes), _part_of(key, number))
    if check and (refused := [each for each in outcomes if each.refusal]):
        raise SomeRejected(Outcomes(outcomes), refused)
    return Outcomes(outcomes)


def submit_iter(manifests: Iterable[Manifest], *, key: str | None = None) -> Flow[Outcome]:
    """`submit_many` for more than fits in memory: reads and sends as you iterate the outcomes.

    It sends nothing before that, and nothing after an interrupted iteration. Rejections are outcomes, and
    raise nothing.
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
    """Matching jobs, newest first; `name` is a prefix, `state` one of JobState's."""
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
    """One job by uid or by `namespace/name` (the newest of that name)."""
    return one(Request("GET", job_path(name)), WholeJob)


def explain(name: str) -> Steps[Explanation]:
    """Explain a job: position, blocking rule in numbers, verdict per cluster."""
    path = yield from by_uid(name)
    return (yield from one(Request("GET", f"{path}/explain"), Explanation))


def job_events(name: str, *, limit: int = 500) -> Steps[list[Event]]:
    """Recent events of a job, oldest first; at most `limit` (1 to 500)."""
    path = yield from by_uid(name)
    return (yield from items(Request("GET", f"{path}/events", {"limit": limit}), Event))


def cancel(name: str, *, dry_run: bool = False) -> Steps[WholeJob]:
    """Cancel a job wherever it is; it becomes Cancelled once it is certain that nothing runs.

    `dry_run`: change nothing and return the job as it is; raises Rejected if the call would be rejected.
    """
    return _act(name, "/cancel", dry_run)


def hold(name: str, *, dry_run: bool = False) -> Steps[WholeJob]:
    """Hold a job until it is released; a running job is withdrawn from its cluster.

    `dry_run`: as for `cancel`.
    """
    return _act(name, "/hold", dry_run)


def release(name: str, *, dry_run: bool = False) -> Steps[WholeJob]:
    """Release a held or deactivated job to its queue.

    A job that a person holds and that also waits for other jobs keeps waiting for them; a second release
    starts it regardless. Therefore this request is not resent if the connection ends before the answer.
    `dry_run`: as for `cancel`.
    """
    return _act(name, "/release", dry_run, repeatable=dry_run)


def set_priority(name: str, priority_class: str) -> Steps[WholeJob]:
    """Set a Job's WorkloadPriorityClass, or remove it if empty."""
    path = yield from by_uid(name)
    body = body_of({"priorityClass": text(priority_class)})
    ask = Request("POST", f"{path}/priority", body=body, repeatable=True)
    return (yield from one(ask, WholeJob))


def delete_job(name: str, *, dry_run: bool = False) -> Steps[WholeJob]:
    """Cancel a job wherever it is and free its name; its history is kept for a while.

    `dry_run`: delete nothing; raises Rejected if the deletion would be rejected.
    """
    path = yield from by_uid(name)
    # In the body, not the query: an earlier hub rejects it there, and would ignore it here.
    body = body_of({"dryRun": True}) if dry_run else None
    return (yield from one(Request("DELETE", path, body=body, repeatable=True), WholeJob))


def by_uid(name: str) -> Steps[str]:
    """The path of a job by its uid, because a resent request might find another job of the same name."""
    if "/" in text(name):
        found = yield from job(name)
        name = found.uid
    return job_path(name)


def _act(name: str, verb: str, dry_run: bool, *, repeatable: bool = True) -> Steps[WholeJob]:
    path = yield from by_uid(name)
    look = {"dryRun": "true"} if dry_run else {}
    return (yield from one(Request("POST", path + verb, look, repeatable=repeatable), WholeJob))


def _submit_chunk(lines: list[bytes], first: int, key: str) -> Steps[list[Outcome]]:
    """Outcomes of one request; if it is rejected as a whole, so are all of its Jobs.

    A request that is too large for the hub is split in half: nothing of it was accepted.
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
        raise Malformed(f"it answered for {len(results)} jobs, but {len(lines)} were submitted")
    said = _warnings(answer)
    return [
        _outcome(first + place, told, said.get(place, [])) for place, told in enumerate(results)
    ]


def _warnings(answer: Json) -> dict[int, list[str]]:
    """Index the hub's entries by position. Raises Malformed."""
    said: dict[int, list[str]] = {}
    try:
        for warning in answer.get("warnings") or ():
            said.setdefault(warning["index"], []).append(warning["message"])
    except (TypeError, KeyError) as fault:
        raise Malformed("its warnings are not texts") from fault
    return said


def _outcome(index: int, told: Any, warnings: list[str]) -> Outcome:
    if not isinstance(told, dict):
        raise Malformed("its entry for a job is not an object")
    told = {key: value for key, value in told.items() if key != "index"}
    if "code" in told:
        return Outcome(index, refusal=Rejected(422, told))
    if warnings:
        told["warnings"] = [*(told.get("warnings") or ()), *warnings]
    return Outcome(index, job=Job.of(told))


def _chunks(manifests: Iterable[Manifest]) -> Iterator[list[bytes]]:
    """The manifests as lines of JSON, as many as fit into one request. Raises TypeError for a single one."""
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
    """The key of one request of several: the first uses the key itself."""
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
