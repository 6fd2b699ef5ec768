"""Rules for a Job's spec, defined once for the hub's intake and the simulated API server. Pure.

The rules are Kubernetes' (pkg/apis/batch/validation). Each reader words a broken one in its own way: the
API server as a cause of its Status (`why` are its words), the hub as a code with a sentence (`rule`).
Values of a wrong type are passed over here: types are checked by whoever reads.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from shared.reject_codes import RejectCode

MOST_PARALLEL_INDEXED: Final = 100_000
LONGEST_MANAGER: Final = 63
COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
MODES: Final = ("NonIndexed", "Indexed")
RESTART_POLICIES: Final = ("OnFailure", "Never")
REPLACEMENT_POLICIES: Final = ("Failed", "TerminatingOrFailed")
_NEED_INDEXES: Final = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
_DOMAIN_PATH: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule. `field` is a path below the spec; `allowed` goes with Unsupported."""

    field: str
    kind: Literal["Required", "Invalid", "Unsupported", "TooLong"]
    value: object
    why: str  # as an API server puts it
    code: RejectCode
    rule: str  # as the hub puts it
    allowed: tuple[str, ...] = ()


def job_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    """Every rule of modes, indexes and policies that a spec breaks; its template and counts aside."""
    yield from _mode_faults(spec)
    yield from _manager_faults(spec.get("managedBy"))
    policy = spec.get("podReplacementPolicy")
    allowed = REPLACEMENT_POLICIES[:1] if spec.get("podFailurePolicy") else REPLACEMENT_POLICIES
    if policy is not None and policy not in allowed:
        yield _unsupported("podReplacementPolicy", policy, allowed)


def restart_fault(spec: Mapping[str, Any]) -> Fault | None:
    """The fault of the restartPolicy of a Job's pods: there is no default."""
    template = _mapping(_mapping(spec.get("template")).get("spec"))
    policy, field = template.get("restartPolicy"), "template.spec.restartPolicy"
    code, rule = RejectCode.INVALID_RESTART_POLICY, "must be Never or OnFailure for a Job"
    if policy in (None, "", "Always"):
        why = 'valid values: "OnFailure", "Never"'
        return Fault(field, "Required", policy, why, code, f"{rule}; there is no default")
    if policy not in RESTART_POLICIES:
        return Fault(field, "Unsupported", policy, "", code, rule, RESTART_POLICIES)
    if spec.get("podFailurePolicy") and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        return Fault(field, "Invalid", policy, why, code, "must be Never with a podFailurePolicy")
    return None


def _mode_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    mode = spec.get("completionMode") or "NonIndexed"
    if mode not in MODES:
        yield _unsupported("completionMode", mode, MODES)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        why, rule = "when maxFailedIndexes is specified", "maxFailedIndexes needs it"
        yield _required("backoffLimitPerIndex", why, rule)
    if mode == "Indexed":
        yield from _indexed_faults(spec)
        return
    for name in _NEED_INDEXES:
        if spec.get(name) is not None:
            why, rule = "requires indexed completion mode", "needs completionMode Indexed"
            yield Fault(name, "Invalid", spec[name], why, RejectCode.INVALID_MODE, rule)


def _indexed_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    if completions is None:
        why, rule = "when completion mode is Indexed", "an Indexed Job says how many completions"
        yield _required("completions", why, rule)
    if _above(parallelism, MOST_PARALLEL_INDEXED):
        rule = f"must be less than or equal to {MOST_PARALLEL_INDEXED}"
        yield _too_large("parallelism", parallelism, rule, " when completion mode is Indexed")
    most_failed = spec.get("maxFailedIndexes")
    if type(completions) is int and _above(most_failed, completions):
        yield _too_large(
            "maxFailedIndexes", most_failed, "must be less than or equal to completions"
        )
    policy = spec.get("successPolicy")
    if isinstance(policy, Mapping) and not policy.get("rules"):
        why = "at least one rules must be specified when the successPolicy is specified"
        yield _required("successPolicy.rules", why, "a successPolicy has at least one rule")


def _manager_faults(manager: object) -> Iterator[Fault]:
    if not isinstance(manager, str):
        return
    if not _DOMAIN_PATH.fullmatch(manager):
        rule = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield Fault("managedBy", "Invalid", manager, rule, RejectCode.INVALID_VALUE, rule)
    if len(manager) > LONGEST_MANAGER:
        why = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        rule = f"has at most {LONGEST_MANAGER} characters"
        yield Fault("managedBy", "TooLong", manager, why, RejectCode.INVALID_VALUE, rule)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _above(value: object, most: int) -> bool:
    return type(value) is int and value > most


def _required(field: str, why: str, rule: str) -> Fault:
    return Fault(field, "Required", None, why, RejectCode.REQUIRED, rule)


def _too_large(field: str, value: object, rule: str, when: str = "") -> Fault:
    return Fault(field, "Invalid", value, rule + when, RejectCode.OUT_OF_RANGE, rule + when)


def _unsupported(field: str, value: object, allowed: tuple[str, ...]) -> Fault:
    rule = f"must be {' or '.join(allowed)}"
    return Fault(field, "Unsupported", value, "", RejectCode.UNSUPPORTED_VALUE, rule, allowed)
