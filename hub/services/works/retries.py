"""Retries of a failed job, by its annotations and its agent's report of the failure.

Decided from the report that brings the result, and from nothing that comes later or may be missed
(docs/explain/exactly-once.md, rule 21). Pure.
"""

from collections.abc import Mapping
from typing import Final

from hub.store.records.workloads import MoveColumns
from hub.store.records.works import StandingWork
from shared import labels
from shared.kinds import retry_on
from shared.wire.agent_v1 import JobStatus

RETRYING: Final = "Retrying"  # the reason of a job that is
_SHOWN: Final = 4  # failures in a sentence


def max_attempts(annotations: Mapping[str, str] | None) -> int:
    """How many attempts annotation `roadstead.dev/retry` allows in all; 1 without it."""
    text = (annotations or {}).get(labels.RETRY, "")
    return int(text) if text.isdecimal() and len(text) < 6 else 1


def may_retry(job: JobStatus, tried: int, annotations: Mapping[str, str] | None) -> bool:
    """Whether another attempt is allowed after this one, the `tried`th, which has failed."""
    if job.result != "Failed" or tried >= max_attempts(annotations):
        return False
    rule = _rule(annotations)
    if rule is None:
        return True
    return rule.takes([*(job.failures or ()), f"/{job.reason}"])


def why_not(job: JobStatus, tried: int, annotations: Mapping[str, str] | None) -> str:
    """What is to be said of a failure that would have been tried again, were it another; else ""."""
    if _rule(annotations) is None or tried >= max_attempts(annotations):
        return ""
    if job.failures is None:
        return f"not tried again: its agent is too old to say how pods failed ({labels.RETRY_ON})"
    found = ", ".join(job.failures[:_SHOWN]) or job.reason or "no exit code is known"
    return f"not tried again: {labels.RETRY_ON} does not name this ({found})"


def decided(work: StandingWork) -> MoveColumns:
    """The columns that say that this epoch is tried again, whatever is wished or reported later."""
    if work.is_retried():
        return {}
    return {"retry_epoch": work.epoch, "retries": (work.retries or 0) + 1}


def _rule(annotations: Mapping[str, str] | None) -> retry_on.RetryOn | None:
    text = (annotations or {}).get(labels.RETRY_ON)
    return retry_on.read(text) if text else None
