"""Classifies a member's refusal of a write: retry later, not in this form, or never."""

import re

from agent.decide.decision import Trouble
from agent.decide.member_policy import REFUSED
from shared.consent import NOT_ACCEPTED
from shared.kube import errors

DENIED = frozenset({403, 422})  # an answer after which the request has no effect
_POLICY = re.compile(r"ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request")
# What an API server says of a body that it can not decode; a webhook's words begin otherwise.
_UNDECODABLE = re.compile(r'\w+ in version "[^"]+" cannot be handled as a ')


def refused(refusal: errors.KubeError, *, hopeless: bool = False) -> Trouble:
    """The meaning of a refusal: not now, or not in this form.

    `hopeless`: of a POST, whose manifest never changes: one that can not be decoded (400) or fails
    validation (422) is refused permanently. An admission webhook's refusal (400, 403) may be another one
    tomorrow; a policy's is the member's own word, as the agent's gate gives it.
    """
    if isinstance(refusal, errors.TooManyRequests):
        return Trouble("Throttled", refusal.message)
    if isinstance(refusal, errors.Unavailable | errors.Unauthorized):
        return Trouble("Unavailable", refusal.message)
    if isinstance(refusal, errors.NotServed):
        return Trouble("KindNotServed", refusal.message)
    if _POLICY.search(refusal.message) and f"{NOT_ACCEPTED}: " in refusal.message:
        return Trouble(NOT_ACCEPTED, refusal.message)
    if hopeless and _POLICY.search(refusal.message):
        return Trouble(REFUSED, refusal.message, final=True)
    if isinstance(refusal, errors.Invalid) and hopeless and _is_for_good(refusal):
        return Trouble("Invalid", refusal.message, final=True)
    return Trouble("ApplyFailed", refusal.message)


def _is_for_good(refusal: errors.Invalid) -> bool:
    """True if the manifest is wrong for any API server; a server that only lacks a field does not count."""
    text = refusal.message
    undecodable = _UNDECODABLE.match(text) is not None and "strict decoding error" not in text
    return refusal.status == 422 or undecodable


def missing_what(missing: errors.NotFound) -> Trouble:
    """Of a 404: whether the namespace, the kind or the object is not there."""
    if missing.of_namespace:
        return Trouble("NamespaceMissing", missing.message)
    if isinstance(missing, errors.KindNotServed):
        return Trouble("KindNotServed", missing.message)
    return Trouble("Retrying", missing.message)


APPLY_CONFLICT = "ApplyConflict"


def conflicting(conflict: errors.Conflict, *, ours: bool = False) -> Trouble:
    """Of a 409 to an apply: who manages what it would change, if the server says.

    `ours`: the object is ours already, and fields of others in it are not to be forced.
    """
    owned = conflict.owned
    if not owned:
        return Trouble("Retrying", conflict.message)
    managers = ", ".join(sorted({field.manager for field in owned}))
    paths = ", ".join(field.field for field in owned[:3])
    if ours:
        text = f"{managers} manages {paths}, and the agent does not overwrite fields of others (force: false)"
        return Trouble(APPLY_CONFLICT, text)
    return Trouble("NameConflict", f"{managers} manages {paths} of the object that is there")
