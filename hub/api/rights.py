"""Authorization of submitted documents: rejects one by one those that the caller's roles do not allow."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

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

_NAMESPACE: Final = "metadata.namespace"
_QUOTAS: Final = frozenset(
    (KUEUE, kind) for kind in ("ClusterQueue", "Cohort", "ResourceFlavor", "WorkloadPriorityClass")
)


def judged(request: Request, drafts: Iterable[Draft | Rejected]) -> list[Draft | Rejected]:
    """The drafts, each that the caller may not hand in as its refusal: Forbidden."""
    if is_unbounded(request):
        return [given if isinstance(given, Rejected) else _unbounded(given) for given in drafts]
    rights = caller(request).rights
    return [given if isinstance(given, Rejected) else _judged(rights, given) for given in drafts]


def require(request: Request, given: Draft) -> Draft:
    """The draft. Raises Rejected: Forbidden."""
    (answer,) = judged(request, [given])
    if isinstance(answer, Rejected):
        raise answer
    return answer


def applying(request: Request) -> Hub:
    """The hub as the caller may change existing jobs: their own, or those that they manage."""
    hub = hub_of(request)
    if is_unbounded(request):
        return hub
    return HubWithin(hub, caller(request).rights.scope(Verb.CHANGE, Noun.JOBS), via_of(request))


def is_unbounded(request: Request) -> bool:
    """True if the caller may do all that the route does, to every kind.

    The scope does not tell: who submits jobs everywhere has a scope of everything, for jobs.
    """
    return caller(request).role != USER


def bounds(request: Request) -> Rights | None:
    """The rights that bound the caller; None: nothing does."""
    return None if is_unbounded(request) else caller(request).rights


def may_change(request: Request, group: str, kind: str) -> bool:
    """True if the caller may delete objects of a kind without namespaces."""
    quotas = (group, kind) in _QUOTAS
    return is_unbounded(request) or (
        quotas and caller(request).rights.allows(Verb.CHANGE, Noun.QUOTAS)
    )


def _unbounded(given: Draft) -> Draft:
    child = given.child and replace(given.child, may_set_priority=True)
    return replace(given, may_set_priority=True, child=child)


def _judged(rights: Rights, given: Draft) -> Draft | Rejected:
    parsed = given.parsed
    kind = (parsed.group, parsed.kind)
    if given.child is not None:
        child = _judged(rights, given.child)
        return child if isinstance(child, Rejected) else replace(given, child=child)
    if given.is_job or given.is_bare:
        queue = given.queue or DEFAULT
        if rights.allows(Verb.CREATE, Noun.JOBS, parsed.namespace, queue):
            place = (parsed.namespace, queue)
            classes = rights.priority_classes(Verb.CREATE, *place, rights.name)
            administers = rights.allows(Verb.CHANGE, Noun.JOBS, *place)
            return replace(
                given,
                sees=rights.scope(Verb.GET, Noun.JOBS),
                may_set_priority=administers and classes is None,
                priority_classes=classes,
            )
        said, field = f"no job in queue {queue} of namespace {parsed.namespace}", _NAMESPACE
    elif kind == (KUEUE, "LocalQueue"):
        if rights.allows(Verb.CREATE, Noun.QUEUES, parsed.namespace):
            return replace(given, within_quotas=not rights.allows(Verb.CHANGE, Noun.QUOTAS))
        said = f"no LocalQueue in namespace {parsed.namespace}: its batch administrator may"
        field = _NAMESPACE
    elif kind in _QUOTAS:
        if rights.allows(Verb.CREATE, Noun.QUOTAS):
            return given
        said, field = f"no {parsed.kind}: a batch administrator of all namespaces may", "kind"
    else:
        said, field = f"no {parsed.kind}: a cluster administrator may", "kind"
    said = f"{rights.name} may hand in {said}; roadstead whoami shows what they may"
    return Rejected(RejectCode.FORBIDDEN, said, field)
