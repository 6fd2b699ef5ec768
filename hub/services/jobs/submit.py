"""Requests that submit Jobs, with their replies kept for replay in the same transaction.

Requests share transactions: `submit` takes those of all callers at once and gives each its reply.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from hub.services.context import rendering
from hub.services.context.settings import Intake
from hub.services.jobs.accept import submit_jobs
from hub.services.reading.draft import Draft
from hub.store import audit, idempotency
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.kinds import unheeded
from shared.reject_codes import RejectCode

CREATED, OK = 201, 200
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Submission:
    """One request's Jobs. `single`: the reply is the job or a refusal; else a list of results."""

    drafts: tuple[Draft | Rejected, ...]
    intake: Intake
    single: bool
    first: int = 0  # place of the first draft in the whole request
    key: Key | None = None  # (principal, Idempotency-Key)
    request_hash: str = ""
    via: str = ""  # the way that its sender came by, for the audit


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer: JSON bytes. `replayed`: an earlier request with this key was answered so."""

    status: int
    body: bytes
    replayed: bool = False


def submit(tx: Transaction, submissions: Sequence[Submission]) -> list[Reply | Exception]:
    """Take the Jobs of several requests; per request its reply or its refusal.

    Refused with IdempotencyMismatch: a key that was used for another body.
    """
    known = idempotency.find(tx, [each.key for each in submissions if each.key])
    first_with: dict[Key, int] = {}
    fresh: list[int] = []
    for place, each in enumerate(submissions):
        if each.key is None or (each.key not in known and each.key not in first_with):
            fresh.append(place)
            if each.key is not None:
                first_with[each.key] = place
    replies = _submit_fresh(tx, submissions, fresh)
    failpoint("H03")
    idempotency.add(
        tx,
        {
            key: (submissions[place].request_hash, reply.status, reply.body)
            for key, place in first_with.items()
            if isinstance(reply := replies[place], Reply)
        },
    )
    return [
        replies[place]
        if place in replies
        else _again(each, known, first_with, submissions, replies)
        for place, each in enumerate(submissions)
    ]


def _submit_fresh(
    tx: Transaction, submissions: Sequence[Submission], fresh: Sequence[int]
) -> dict[int, Reply | Exception]:
    drafts = [
        given for place in fresh for given in submissions[place].drafts if isinstance(given, Draft)
    ]
    intake = submissions[0].intake
    taken = iter(submit_jobs(tx, drafts, intake, strict=True) if drafts else ())
    replies: dict[int, Reply | Exception] = {}
    written: list[tuple[str, str, str, str]] = []
    for place in fresh:
        asked = submissions[place]
        answers = [next(taken) if isinstance(given, Draft) else given for given in asked.drafts]
        replies[place] = (
            _single(answers[0], asked.drafts[0], intake)
            if asked.single
            else _several(answers, asked.drafts, asked.first, intake)
        )
        written += _written(asked, answers)
    audit.add_many(tx, written)
    return replies


def _written(
    asked: Submission, answers: Sequence[Workload | Rejected]
) -> list[tuple[str, str, str, str]]:
    """The audit of one request's part: its job, or how many it took; nothing where it took none."""
    taken = [each for each in answers if isinstance(each, Workload)]
    if not taken:
        return []
    who = next((each.submitted_by for each in asked.drafts if isinstance(each, Draft)), "")
    first = taken[0]
    if asked.single:
        of = f"{first.kind} {first.namespace}/{first.name} {first.uid}"
        return [(who, "submit", of, f"created {audit.came_by(asked.via)}".rstrip())]
    spaces = {each.namespace for each in taken}
    where = f" {first.namespace}/" if len(spaces) == 1 else ""
    return [(who, "submit", f"Job{where}", f"{len(taken)} jobs")]


def _single(
    answer: Workload | Rejected, given: Draft | Rejected, intake: Intake
) -> Reply | Exception:
    if isinstance(answer, Rejected):
        return answer
    told = {**rendering.job(answer), "message": answer.message, **_warnings(given, intake)}
    return Reply(CREATED, orjson.dumps(told))


def _several(
    answers: Sequence[Workload | Rejected],
    drafts: Sequence[Draft | Rejected],
    first: int,
    intake: Intake,
) -> Reply:
    results = [
        {"index": place, **rendering.refusal(answer)}
        if isinstance(answer, Rejected)
        else {"index": place, **rendering.job(answer), **_warnings(given, intake)}
        for place, (answer, given) in enumerate(zip(answers, drafts, strict=True), first)
    ]
    return Reply(OK, orjson.dumps(results))


def _warnings(given: Draft | Rejected, intake: Intake) -> Json:
    """{"warnings"}: what of a Job changes nothing; {} where there is nothing to say."""
    if isinstance(given, Rejected):
        return {}
    said = unheeded.warnings(given.parsed, partial=intake.partial_admission)
    return {"warnings": list(said)} if said else {}


def _again(
    asked: Submission,
    known: dict[Key, idempotency.Reply],
    first_with: dict[Key, int],
    submissions: Sequence[Submission],
    replies: dict[int, Reply | Exception],
) -> Reply | Exception:
    """The reply to a request whose key was seen before, in an earlier transaction or in this one."""
    assert asked.key is not None
    if asked.key in known:
        request_hash, status, body = known[asked.key]
    else:
        twin = first_with[asked.key]
        reply = replies[twin]
        if not isinstance(reply, Reply):
            return reply
        request_hash, status, body = submissions[twin].request_hash, reply.status, reply.body
    if request_hash != asked.request_hash:
        return Rejected(
            RejectCode.IDEMPOTENCY_MISMATCH,
            "this Idempotency-Key was used for another body; use a new key",
            "Idempotency-Key",
        )
    return Reply(status, body, replayed=True)
