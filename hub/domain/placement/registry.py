"""The filters in their order: cheap and selective ones first."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.domain.placement.framework import Filter
from hub.domain.placement.plugins.affinity import AffinityRequired
from hub.domain.placement.plugins.consent import Accepted
from hub.domain.placement.plugins.cordon import Uncordoned
from hub.domain.placement.plugins.eligibility import SUSPECT_AFTER_S, Eligible
from hub.domain.placement.plugins.health import Healthy
from hub.domain.placement.plugins.kinds import KindServed
from hub.domain.placement.plugins.naming import Named
from hub.domain.placement.plugins.rights import MayCreate
from hub.domain.placement.plugins.set_aside import NotSetAside
from hub.domain.placement.plugins.stopped_queue import QueueNotStopped
from hub.domain.placement.plugins.taints import TaintsTolerated

FILTERS: Final[tuple[Filter, ...]] = (
    Eligible(),
    Healthy(),
    Uncordoned(),
    Named(),
    NotSetAside(),
    KindServed(),
    TaintsTolerated(),
    AffinityRequired(),
    QueueNotStopped(),
    MayCreate(),
    Accepted(),  # last: the others are about clusters that the workload might take
)


def filters(
    suspect_after_s: float = SUSPECT_AFTER_S,
    since: dt.datetime | None = None,
    reports_due: Mapping[str, dt.datetime] | None = None,
) -> tuple[Filter, ...]:
    """The same filters with another idea of how long, and since when, a cluster may be silent.

    `reports_due`: until when workloads of a namespace wait for reports of consent.
    """
    other: dict[type[Filter], Filter] = {
        Eligible: Eligible(suspect_after_s, since),
        Accepted: Accepted(reports_due),
    }
    return tuple(other.get(type(each), each) for each in FILTERS)
