"""What people may hand in: documents that their roles do not allow are refused one by one."""

from collections.abc import Iterable

from starlette.requests import Request

from hub.api.policy import caller, hub_of, via_of
from hub.domain.access import Noun, Rights, Verb
from hub.services.access.credentials import USER
from hub.services.context.hub import Hub, HubWithin
from hub.services.queues.defaults import DEFAULT
from hub.services.reading.draft import Draft
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode


def judged(request: Request, drafts: Iterable[Draft | Rejected]) -> list[Draft | Rejected]:
    """The drafts, each that the caller may not hand in as its refusal: Forbidden."""
    if is_unbounded(request):
        return list(drafts)
    rights = caller(request).rights
    return [given if isinstance(given, Rejected) else _judged(rights, given) for given in drafts]


def require(request: Request, given: Draft) -> Draft:
    """The draft. Raises Rejected: Forbidden."""
    (answer,) = judged(request, [given])
    if isinstance(answer, Rejected):
        raise answer
    return answer


def applying(request: Request) -> Hub:
    """The hub as the caller changes what is there already: jobs of their own, or those that they manage."""
    hub = hub_of(request)
    if is_unbounded(request):
        return hub
    return HubWithin(hub, caller(request).rights.scope(Verb.CHANGE, Noun.JOBS), via_of(request))


def is_unbounded(request: Request) -> bool:
    """Whether the caller may do all that the route does, to every kind.

    The scope does not tell: who submits jobs everywhere has a scope of everything, for jobs.
    """
    return caller(request).role != USER


def _judged(rights: Rights, given: Draft) -> Draft | Rejected:
    parsed = given.parsed
    if given.is_job or given.is_bare:
        queue = given.queue or DEFAULT
        if rights.allows(Verb.CREATE, Noun.JOBS, parsed.namespace, queue):
            return given
        where = f"in queue {queue} of namespace {parsed.namespace}"
    elif (parsed.group, parsed.kind) == (KUEUE, "LocalQueue"):
        if rights.allows(Verb.CREATE, Noun.QUEUES, parsed.namespace):
            return given
        where = f"in namespace {parsed.namespace}"
    else:
        where = "of this kind: a cluster administrator may"
    said = f"{rights.name} may hand in nothing {where}; roadstead whoami shows what they may"
    return Rejected(RejectCode.FORBIDDEN, said, "metadata.namespace")
