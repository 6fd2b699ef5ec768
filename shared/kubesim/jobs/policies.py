"""A Job's podFailurePolicy and successPolicy, as rules over plain records. Pure.

The order of rules, what matches and the messages are those of Kubernetes'
pkg/controller/job/pod_failure_policy.go and success_policy.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.kubesim.jobs import indexes

_IGNORE, _FAIL_JOB, _FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy makes of one failed pod: counted or not, and what else it ends."""

    counts: bool = True
    fails_index: bool = False
    fails_job: str = ""  # the message, if the whole Job fails of it


_COUNTED = Verdict()
_IGNORED = Verdict(counts=False)
_INDEX_FAILED = Verdict(fails_index=True)


def judge(policy: Mapping[str, Any] | None, pod: Mapping[str, Any]) -> Verdict:
    """The first rule that matches a failed pod decides; without one the failure counts."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        what = _match(rule, pod)
        if not what:
            continue
        action = rule.get("action")
        if action == _IGNORE:
            return _IGNORED
        if action == _FAIL_INDEX:
            return _INDEX_FAILED
        if action == _FAIL_JOB:
            return Verdict(fails_job=f"{what} matching FailJob rule at index {number}")
        return _COUNTED
    return _COUNTED


def success_reached(
    policy: Mapping[str, Any] | None, completions: int, succeeded: set[int]
) -> str:
    """The message of the first successPolicy rule that is met, or ""."""
    if not succeeded:
        return ""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        wanted_count = rule.get("succeededCount")
        if rule.get("succeededIndexes") is None:
            met = wanted_count is not None and len(succeeded) >= wanted_count
        else:
            wanted = indexes.parse(rule["succeededIndexes"], completions)
            reached = len(wanted & succeeded)
            met = bool(wanted) and (
                reached == len(wanted) or (wanted_count is not None and reached >= wanted_count)
            )
        if met:
            return f"Matched rules at index {number}"
    return ""


def _match(rule: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    """What of the pod matches the rule, in the words of the Job's failure message, or ""."""
    status = pod.get("status") or {}
    named = f"{pod['metadata'].get('namespace')}/{pod['metadata']['name']}"
    if rule.get("onExitCodes"):
        wanted = rule["onExitCodes"]
        for container in _containers(status):
            code = _exit_code(container)
            if code and _container_matches(wanted, container["name"], code):
                return (
                    f"Container {container['name']} for pod {named} failed with exit code {code}"
                )
        return ""
    for condition in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if condition.get("type") == pattern.get("type") and condition.get(
                "status"
            ) == pattern.get("status", "True"):
                return f"Pod {named} has condition {condition['type']}"
    return ""


def _containers(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]


def _exit_code(container: Mapping[str, Any]) -> int:
    terminated = (container.get("state") or {}).get("terminated")
    return int(terminated.get("exitCode", 0)) if terminated else 0


def _container_matches(wanted: Mapping[str, Any], name: str, code: int) -> bool:
    if wanted.get("containerName") not in (None, name):
        return False
    values = wanted.get("values") or ()
    if wanted.get("operator") == "In":
        return code in values
    return wanted.get("operator") == "NotIn" and code not in values
