"""Error messages: what is wrong, in which field, and the next step."""

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

_HINTS = {
    NotAllowed: "A token comes from `roadstead login`, --token, ROADSTEAD_TOKEN, or ROADSTEAD_DATA=DIR of "
    "`roadstead up`.",
    Unreachable: "Start a hub: roadstead up. Or configure one: roadstead login, --server, ROADSTEAD_SERVER, "
    "or ROADSTEAD_DATA=DIR.",
    WrongAddress: "It comes from --server, ROADSTEAD_SERVER, `roadstead login`, or the file `server` in "
    "ROADSTEAD_DATA.",
}
_CODE_HINTS = {
    "AlreadyExists": "roadstead clusters token NAME prints a new join token for it.",
    "QueueNotEmpty": "roadstead delete clusterqueue NAME --drain evicts its jobs first.",
    "QueueRequired": "Name it by that label, or by -q of roadstead run. "
    "roadstead queues ls -o wide lists the queues and their namespaces.",
    "PodsRemoved": "roadstead jobs show JOB shows what the hub kept of failed pods.",
    "QueueNotFound": "roadstead queues ls -o wide lists the queues and their namespaces.",
}
_IS_NO_JOB = " is no job; "  # else the kind is read, and something in it is not accepted
_HINT_OF_KINDS = (
    "submit accepts Jobs, and JobSets and their kin that name a queue; "
    "roadstead apply -f FILE accepts others."
)
# The noun of "there is no NOUN NAME", and the verb that lists such things.
_LISTS = {
    "job": "jobs ls",
    "cluster": "clusters ls",
    "membercluster": "clusters ls",
    "clusterqueue": "queues ls",
    "localqueue": "queues ls -o wide",
    "cronjob": "cronjobs ls",  # of all namespaces
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
    "karta": "kinds versions",
}
_ABSENT = re.compile(r"(?:there is )?no (\w+) ")


def sentence(failure: RoadsteadError) -> str:
    """Format a failure as the lines for standard error."""
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
    """Format an error answer: the field, the message and the stable code; then the other fields."""
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
    """Return the next step; empty if there is none."""
    if isinstance(failure, NotFound):
        noun = _ABSENT.match(failure.detail.lower())
        verb = _LISTS.get(noun[1]) if noun else None
        if not verb:
            return ""
        seen = f"List the existing ones: roadstead {verb}"
        by_name_alone = noun and noun[1] == "job" and "/" not in failure.detail
        return f"Name it NAMESPACE/NAME, or by its uid. {seen}" if by_name_alone else seen
    if isinstance(failure, Rejected):
        if failure.code == "UnsupportedKind":
            return _HINT_OF_KINDS if _IS_NO_JOB in failure.detail else ""
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
    """Remove terminal control sequences from foreign text."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
