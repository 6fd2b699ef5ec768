"""One that lacks quota and that no member could ever hold: that it fits nowhere is its reason."""

from dataclasses import replace

import pytest

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Reason, Refusal
from hub.domain.quota.declared import FlavorResource
from hub.domain.selectors import Taint
from hub.domain.workloads.demand import QUOTA_ONLY, Constraints, Demand
from shared.resources import Toleration
from tests.domain.build import (
    a_cluster,
    a_demand,
    a_flavor,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    decide,
    refusal,
)

SMALL = a_cluster(a_pool(nodes=4, cpu=8))
USED = {"q": {FlavorResource("any", "cpu"): 8000}}


def waits(demand: Demand, *, strict: bool = False, fleet: Cluster = SMALL) -> Refusal:
    """Its refusal in a queue of 10 cpus of which 8 are used."""
    queue = a_queue(cpu=10, strict=strict)
    return refusal(decide(a_snapshot([a_lane(demand, "j")], [fleet], queue, used=USED)))


def in_a_cohort(picture: Snapshot) -> Snapshot:
    """The same picture, with queues that take turns by Kueue's rounds."""
    queues = [(replace(queue, cohort="all"), lanes) for queue, lanes in picture.queues]
    ledger = type(picture.ledger)([queue for queue, _ in queues], USED)
    return replace(picture, queues=queues, ledger=ledger)


@pytest.mark.parametrize("shared", [False, True])
def test_a_pod_larger_than_any_node_does_not_wait_for_quota(*, shared: bool) -> None:
    """In plain queues and in cohorts; what it lacks of quota is kept, and said behind."""
    demand = a_demand(a_pod_set(requests={"cpu": 9}))
    picture = a_snapshot([a_lane(demand, "j")], [SMALL], a_queue(cpu=10), used=USED)
    found = refusal(decide(in_a_cohort(picture) if shared else picture))
    assert found.reason is Reason.NO_CLUSTER_FITS
    first, _, more = found.message.partition("; in addition, ")
    assert first.startswith("no member could ever hold it: no node of any member is large enough")
    assert "9 asked, 8 of 10 used" in more
    assert [each.missing for each in found.shortages] == [7000]


def test_more_pods_than_all_its_nodes_hold_together() -> None:
    """Nine pods of a node each, and eight cpus on each of four nodes."""
    many = waits(a_demand(a_pod_set(count=5, requests={"cpu": 2})))
    assert many.reason is Reason.WAITING_FOR_QUOTA
    alone = waits(a_demand(a_pod_set(count=2, requests={"cpu": 5})))
    assert alone.reason is Reason.WAITING_FOR_QUOTA
    found = waits(
        a_demand(a_pod_set(count=2, requests={"cpu": 5})), fleet=a_cluster(a_pool(cpu=8))
    )
    assert found.reason is Reason.NO_CLUSTER_FITS
    assert "has room for 1 of 2 pods" in found.message


def test_several_pod_sets_count_together() -> None:
    """Each fits alone, and both together do not."""
    two = a_demand(
        a_pod_set(name="a", requests={"cpu": 5}), a_pod_set(name="b", requests={"cpu": 5})
    )
    assert waits(two).reason is Reason.WAITING_FOR_QUOTA
    assert waits(two, fleet=a_cluster(a_pool(cpu=8))).reason is Reason.NO_CLUSTER_FITS


def test_who_names_a_cluster_that_is_not_there() -> None:
    """No cluster may take it."""
    demand = a_demand(
        a_pod_set(requests={"cpu": 3}), constraints=Constraints(clusters=("nosuch",))
    )
    assert waits(demand).reason is Reason.NO_CLUSTER_MATCHES


def test_who_asks_for_no_room_waits_for_quota() -> None:
    """An executor outside the fleet runs it."""
    demand = a_demand(a_pod_set(requests={"cpu": 9}), constraints=QUOTA_ONLY)
    assert waits(demand).reason is Reason.WAITING_FOR_QUOTA


def test_more_than_the_queue_can_ever_have_is_said_first() -> None:
    """No member could hold it either, and its queue never admits it."""
    found = waits(a_demand(a_pod_set(requests={"cpu": 11})))
    assert found.reason is Reason.EXCEEDS_MAX_QUOTA


def test_taints_that_a_flavor_tolerates_keep_nobody_away() -> None:
    """The hub adds a flavor's tolerations to the pods: quota is all that is missing."""
    tainted = a_cluster(a_pool(cpu=8, taints=[Taint("gpu", "", "NoSchedule")]))
    tolerant = replace(a_flavor(), tolerations=(Toleration(key="gpu", operator="Exists"),))
    lane = a_lane(a_demand(a_pod_set(requests={"cpu": 3})), "j")
    for flavor, reason in ((tolerant, "WaitingForQuota"), (a_flavor(), "NoClusterFits")):
        picture = a_snapshot([lane], [tainted], a_queue(cpu=10), used=USED, flavors=[flavor])
        assert refusal(decide(picture)).reason == reason
