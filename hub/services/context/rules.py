"""The administrator's queueing settings, as the rules of a cycle."""

import datetime as dt

from hub.domain.admission.nomination import Rules
from hub.domain.instants import to_micros
from hub.domain.preemption.search import ORDERS, PreemptionLimits
from hub.services.context.settings import Queueing


def rules_of(given: Queueing, now: dt.datetime) -> Rules:
    """The rules of cycles at `now`. Raises ValueError for an order of victims that does not exist."""
    order = tuple(_listed(given.victim_order))
    unknown = set(order) - set(ORDERS)
    if unknown:
        raise ValueError(f"victim_order: {min(unknown)} is none of {', '.join(ORDERS)}")
    return Rules(
        fair=given.fair_sharing == "On",
        strategies=tuple(_listed(given.fair_sharing_strategies)),
        block_admission=given.block_admission == "On",
        partial=given.partial_admission == "On",
        for_room=given.preempt_for_capacity == "On",
        preemptors_first=given.preemptors_first == "On",
        ignore_undeclared=given.ignore_undeclared_resources == "On",
        limits=PreemptionLimits(
            order=order,
            budget=given.max_preempted_workloads or None,
            minimum_runtime=round(given.minimum_runtime_s * 1e6),
            now=to_micros(now),
            protected=frozenset(_listed(given.non_preemptible_queues)),
        ),
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
