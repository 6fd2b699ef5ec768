"""The rules of availability that an agent goes by: its own, those as data, those declared on the hub. Pure.

Where none is declared for a kind, its condition Ready, or else Available, is believed: by Kubernetes'
conventions it sums up whether the object does its work. Without either nobody can tell.
"""

from collections.abc import Mapping
from typing import Final

from agent.objects.availability import availability_of_kind, key_of
from agent.objects.verdict import AVAILABLE, UNKNOWN, Object, Verdict, condition, no
from shared.expressions.expression import Answer, NoValue, compiled
from shared.expressions.functions import is_stale
from shared.kinds.availability_rules import AT_ONCE, BUILT_IN, Rule

_SUMS: Final = ("Ready", "Available")


class AvailabilityRules:
    """What is declared on the hub may change while the agent runs; `revision` says as of when it is."""

    __slots__ = ("_declared", "revision")

    def __init__(self) -> None:
        self._declared: Mapping[tuple[str, str], Rule] = {}
        self.revision = 0

    def declare(self, revision: int, rules: Mapping[tuple[str, str], Rule]) -> frozenset[str]:
        """Take what is declared now; the kinds whose rules have changed."""
        before, self._declared, self.revision = self._declared, dict(rules), revision
        changed = {key for key in {*before, *rules} if before.get(key) != rules.get(key)}
        return frozenset(kind for _, kind in changed)

    def judge(self, obj: Object) -> Verdict:
        """Whether an object does its work: yes, not yet and why, or None: nobody can tell. Never raises."""
        told = availability_of_kind(obj)
        if told is not None:
            return told
        key = key_of(obj)
        rule = self._declared.get(key) or BUILT_IN.get(key)
        try:
            return _by_conventions(obj) if rule is None else _by_rule(obj, rule)
        except (AttributeError, TypeError, ValueError, KeyError):
            return UNKNOWN  # no status that can be read; or a rule of a later release than this


def _by_conventions(obj: Object) -> Verdict:
    for kind in _SUMS:
        held = condition(obj, kind)
        if not held:
            continue
        if held.get("status") == "True" and not _is_late(obj) and not is_stale(held, obj):
            return AVAILABLE
        return _late(obj) if _is_late(obj) or is_stale(held, obj) else _lacking(kind, held)
    return UNKNOWN


def _by_rule(obj: Object, rule: Rule) -> Verdict:
    if rule.available == AT_ONCE:
        return AVAILABLE
    if _is_late(obj):
        return _late(obj)
    answer = compiled(rule.available).evaluate(obj)
    if answer.value is True:
        return AVAILABLE
    if isinstance(answer.value, NoValue):
        return _unknown_yet(answer.value)
    return _said(obj, rule, answer)


def _said(obj: Object, rule: Rule, answer: Answer) -> Verdict:
    """Why not: in the rule's words, in those of the condition that lacks, or by the rule itself."""
    if rule.message:
        text = compiled(rule.message, str).evaluate(obj).value
        if isinstance(text, str):
            return no("NotAvailable", text)
    if answer.lacking is not None:
        return _lacking(*answer.lacking)
    return no("NotAvailable", f"this does not hold: {rule.available}")


def _lacking(kind: str, held: Mapping[str, object]) -> Verdict:
    if not held:
        return no("NotReported", f"it has no condition {kind} yet")
    if held.get("status") == "True":
        return no("NotObserved", f"its condition {kind} is of an earlier generation")
    text = str(held.get("message") or f"its condition {kind} is {held.get('status')}")
    return no(str(held.get("reason") or f"Not{kind}"), text)


def _unknown_yet(fault: NoValue) -> Verdict:
    if fault.missing:
        return no("NotReported", f"its status does not tell yet: {fault.message}")
    return no("ExpressionFailed", f"whether it is available can not be told: {fault.message}")


def _is_late(obj: Object) -> bool:
    """Whether its status says that it is of an earlier generation."""
    status = obj.get("status")
    return isinstance(status, dict) and is_stale(status, obj)


def _late(obj: Object) -> Verdict:
    generation = obj["metadata"].get("generation")
    return no("NotObserved", f"its controller has not seen generation {generation} yet")
