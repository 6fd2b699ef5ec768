"""Refusals and failures in words: what is wrong, in which field, and what to do next."""

import re

from roadstead.errors import (
    FieldProblem,
    JobFailed,
    NotAllowed,
    NotFound,
    Rejected,
    RoadsteadError,
    Unreachable,
    WrongAddress,
)

_NEVER = "no member could ever hold it"
_MISTYPED = "kind: "
_HINTS = {
    NotAllowed: "A token comes from `roadstead login`, --token, ROADSTEAD_TOKEN, or ROADSTEAD_DATA=DIR of "
    "`roadstead up`.",
    Unreachable: "Start a hub: roadstead up. Or name one: roadstead login, --server, ROADSTEAD_SERVER, "
    "or ROADSTEAD_DATA=DIR.",
    WrongAddress: "It comes from --server, ROADSTEAD_SERVER, `roadstead login`, or the file `server` in "
    "ROADSTEAD_DATA.",
}
_CODE_HINTS = {
    "AlreadyExists": "roadstead clusters token NAME prints a fresh join token for it.",
    "QueueNotEmpty": "roadstead delete clusterqueue NAME --drain takes its jobs back first.",
    "UnsupportedKind": "submit takes Jobs; roadstead apply -f FILE takes every kind.",
    "PodsRemoved": "roadstead jobs show JOB has what the hub kept of pods that failed.",
    "QueueNotFound": "roadstead queues ls -o wide lists the queues and their namespaces.",
}
# The noun of "there is no NOUN NAME", and the verb that lists such things.
_LISTS = {
    "job": "jobs ls",
    "cluster": "clusters ls",
    "membercluster": "clusters ls",
    "clusterqueue": "queues ls",
    "localqueue": "queues ls -o wide",
    "workload": "workloads ls",
    "placement": "placements ls",
    "clusterresourceplacement": "placements ls",
    "resourceplacement": "placements ls",
    "staged": "rollouts ls",  # update run
    "namespace": "jobs ls",
    "admissioncheck": "checks ls",
    "role": "access ls",  # binding
    "viewer": "tokens ls",
    "administrator": "tokens ls",
}
_ABSENT = re.compile(r"(?:there is )?no (\w+) ")


def sentence(failure: RoadsteadError) -> str:
    """A failure as the lines that go to standard error."""
    if not isinstance(failure, Rejected):
        lines = [f"error: {plain(str(failure))}"]
    else:
        first, *more = refusal(failure.code, failure.detail, failure.errors)
        lines = [f"error: {first}", *(f"  {line}" for line in more)]
    hint = hint_for(failure)
    return "\n".join([*lines, f"  {hint}"] if hint else lines)


def _says(detail: str, field: str) -> bool:
    inside = field.partition("].")[2] if field.startswith("[") else ""
    return field in detail or bool(inside and inside in detail)


def refusal(code: str, detail: str, errors: tuple[FieldProblem, ...]) -> list[str]:
    """A refusal as lines: the field, what is wrong and the stable code; then the other fields."""
    first = detail or code
    # "[5].spec…" is a place in a list that was sent, of which the detail names the document.
    if len(errors) == 1 and errors[0].field and not _says(first, errors[0].field):
        first = f"{errors[0].field}: {first}"
    others = [
        f"{each.field}: {each.message}"
        for each in errors
        if each.field and each.message not in first
    ]
    return [plain(line) for line in (f"{first} [{code}]", *others)]


def hint_for(failure: RoadsteadError) -> str:
    """What to do next; empty where there is nothing to say."""
    if isinstance(failure, NotFound):
        noun = _ABSENT.match(failure.detail.lower())
        verb = _LISTS.get(noun[1]) if noun else None
        if not verb:
            return ""
        seen = f"See what there is: roadstead {verb}"
        by_name_alone = noun and noun[1] == "job" and "/" not in failure.detail
        return f"Name it NAMESPACE/NAME, or by its uid. {seen}" if by_name_alone else seen
    if isinstance(failure, Rejected):
        other = failure.code == "AlreadyExists" and not failure.detail.startswith("cluster ")
        return "" if other else _CODE_HINTS.get(failure.code, "")
    if isinstance(failure, JobFailed):
        name = failure.jobs[0].full_name
        return f"Why: roadstead explain {name}. Its log: roadstead logs {name}"
    if isinstance(failure, NotAllowed) and failure.status == 403:
        return ""  # the token is known; it has not the right
    if isinstance(failure, Unreachable) and failure.answered:
        return ""  # the message says what to do
    if isinstance(failure, WrongAddress) and str(failure).startswith("the CA"):
        return "It comes from --ca or ROADSTEAD_CA."
    return _HINTS.get(type(failure), "")


def plain(text: str) -> str:
    """Text from elsewhere without what would steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def warning(text: str) -> str:
    """A warning of the hub's: of what changes nothing, a job that fits nowhere, a mistyped kind."""
    return text if text.startswith((_NEVER, _MISTYPED)) else f"stored and not acted on: {text}"
