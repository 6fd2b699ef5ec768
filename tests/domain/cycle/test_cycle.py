"""One cycle: who goes first, who waits and why, and what the next one sees."""

from dataclasses import replace

import pytest

from hub.domain.cycle.profile import Profile
from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Reason
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.demand import Constraints, queue_profile
from hub.domain.workloads.placement_policy import Policy, Preferred, read_policy
from tests.domain.build import (
    NOW,
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
    where,
)


def room_for(cpu: int, name: str = "c") -> Cluster:
    return a_cluster(a_pool(cpu=cpu), name=name)


def test_priority_goes_before_age() -> None:
    """Of two workloads for one place the higher priority gets it, however young."""
    lanes = [
        a_lane(a_demand(), "old"),
        a_lane(a_demand(priority=1), "urgent", since=99),
    ]
    plan = decide(a_snapshot(lanes, [room_for(1)]))
    assert where(plan) == {"urgent": "c"}


def test_age_goes_before_uid() -> None:
    """Of equals the older gets the place; of equally old ones the smaller uid."""
    older = [a_lane(a_demand(), "b"), a_lane(a_demand(a_pod_set(name="x")), "a", since=1)]
    assert where(decide(a_snapshot(older, [room_for(1)]))) == {"b": "c"}
    same = [a_lane(a_demand(), "b"), a_lane(a_demand(a_pod_set(name="x")), "a")]
    assert where(decide(a_snapshot(same, [room_for(1)]))) == {"a": "c"}


def test_best_effort_passes_a_head_that_does_not_fit() -> None:
    """BestEffortFIFO: what is smaller than the head goes past it."""
    lanes = [
        a_lane(a_demand(a_pod_set(requests={"cpu": 8})), "big"),
        a_lane(a_demand(), "small", since=9),
    ]
    plan = decide(a_snapshot(lanes, [room_for(4)]))
    assert where(plan) == {"small": "c"}
    assert refusal(plan).reason is Reason.NO_CLUSTER_FITS


def test_strict_does_not_pass_the_head_and_says_who_it_is() -> None:
    """StrictFIFO: everybody waits behind a head that does not fit."""
    lanes = [
        a_lane(a_demand(a_pod_set(requests={"cpu": 8})), "big"),
        a_lane(a_demand(), "small", since=9),
    ]
    plan = decide(a_snapshot(lanes, [room_for(4)], a_queue(strict=True)))
    assert where(plan) == {}
    head, behind = plan.refusals
    assert head.reason is Reason.NO_CLUSTER_FITS
    assert (behind.reason, behind.head) == (Reason.BEHIND_HEAD, "big")


def test_a_round_takes_one_head_of_each_queue() -> None:
    """Queues share a cluster turn by turn, however long their lines are."""
    queues = [a_queue(name="x"), a_queue(name="y")]
    lanes = [
        a_lane(a_demand(queue="x"), *(f"x{n}" for n in range(9))),
        a_lane(a_demand(queue="y"), *(f"y{n}" for n in range(9)), since=100),
    ]
    plan = decide(a_snapshot(lanes, [room_for(4)], *queues))
    assert set(where(plan)) == {"x0", "x1", "y0", "y1"}
    first = decide(a_snapshot(lanes, [room_for(4)], *queues), Profile(one_round=True))
    assert set(where(first)) == {"x0", "y0"}


def test_quota_refuses_in_numbers() -> None:
    """What does not fit the unused quota says how much is asked, used, and missing."""
    used = {"q": {FlavorResource("any", "cpu"): 3000}}
    lanes = [a_lane(a_demand(a_pod_set(requests={"cpu": 2})), "j")]
    plan = decide(a_snapshot(lanes, [room_for(9)], a_queue(cpu=4), used=used))
    why = refusal(plan)
    assert why.reason is Reason.WAITING_FOR_QUOTA
    assert "cpu of flavor any: 2 asked, 3 of 4 used, 1 more needed" in why.message
    (shortage,) = why.shortages
    assert (shortage.asked, shortage.used, shortage.limit, shortage.missing) == (
        2000,
        3000,
        4000,
        1000,
    )


def test_what_a_queue_can_never_have_is_said_so() -> None:
    """More than the nominal quota is ExceedsMaxQuota, not waiting."""
    lanes = [a_lane(a_demand(a_pod_set(requests={"cpu": 5})), "j")]
    plan = decide(a_snapshot(lanes, [room_for(9)], a_queue(cpu=4)))
    assert refusal(plan).reason is Reason.EXCEEDS_MAX_QUOTA


def test_a_gang_goes_whole_or_not_at_all() -> None:
    """Three pods of 2 cpu do not fit two nodes of 3 cpu, though 6 cpu are free in all."""
    gang = a_lane(a_demand(a_pod_set(count=3, requests={"cpu": 2})), "gang")
    plan = decide(a_snapshot([gang], [a_cluster(a_pool(nodes=2, cpu=3))]))
    assert where(plan) == {}
    assert str(refusal(plan).nearest) == "cluster c has room for 2 of 3 pods"
    plan = decide(a_snapshot([gang], [a_cluster(a_pool(nodes=3, cpu=3))]))
    assert where(plan) == {"gang": "c"}


def test_all_pod_sets_go_to_one_cluster_together() -> None:
    """A cluster that can hold each pod set alone but not both is no place for them."""
    both = a_lane(
        a_demand(
            a_pod_set(name="driver", requests={"cpu": 2}),
            a_pod_set(name="workers", count=2, requests={"cpu": 3}),
        ),
        "both",
    )
    small = a_cluster(a_pool(nodes=2, cpu=4), name="z")
    large = a_cluster(a_pool(nodes=3, cpu=4), name="a")
    assert where(decide(a_snapshot([both], [small]))) == {}
    assert where(decide(a_snapshot([both], [small, large]))) == {"both": "a"}


def test_a_burst_spreads_over_equal_clusters() -> None:
    """Each placement lowers what the next one sees: 100 equal jobs, three equal clusters."""
    clusters = [a_cluster(a_pool(nodes=4, cpu=16), name=n) for n in "abc"]
    plan = decide(a_snapshot([a_lane(a_demand(), *map(str, range(100)))], clusters))
    counts = [list(where(plan).values()).count(n) for n in "abc"]
    assert sorted(counts) == [33, 33, 34]


def test_the_larger_name_wins_a_tie_of_sorters() -> None:
    """Equal scores under property sorters: the lexicographically larger name, as in KubeFleet."""
    demand = a_demand(profile=queue_profile((a_pod_set(),)))
    plan = decide(a_snapshot([a_lane(demand, "j")], [room_for(4, "a"), room_for(4, "b")]))
    assert where(plan) == {"j": "b"}


def test_decisions_carry_scores_and_rejections() -> None:
    """The chosen cluster stands first, the others follow, and who may not says why."""
    clusters = [
        room_for(8, "large"),
        room_for(4, "small"),
        replace(room_for(9, "shut"), cordoned=True),
    ]
    plan = decide(a_snapshot([a_lane(a_demand(), "j")], clusters))
    (placement,) = plan.placements
    assert [(s.cluster, s.score) for s in placement.scores] == [("large", 8750), ("small", 7500)]
    (rejected,) = placement.rejected
    assert (rejected.cluster, rejected.rejection.reason) == ("shut", "ClusterCordoned")


def test_a_flavor_is_carried_by_clusters_whose_nodes_have_its_labels() -> None:
    """A flavor with labels narrows the clusters, and its labels go into what is applied."""
    queue = a_queue(flavors=("a100",), cpu=99)
    plain = a_cluster(a_pool(cpu=64), name="z-plain")
    carrier = a_cluster(a_pool(cpu=8, labels={"gpu-type": "a100"}), name="a-carrier")
    flavors = [a_flavor("a100", **{"gpu-type": "a100"})]
    snapshot = a_snapshot(
        [a_lane(a_demand(), "j")], [plain, carrier], queue,
        flavors=flavors, key_revisions={"gpu-type": 0},
    )  # fmt: skip
    plan = decide(snapshot)
    assert where(plan) == {"j": "a-carrier"}
    assert plan.placements[0].assignment.pod_sets[0].labels == (("gpu-type", "a100"),)


def test_a_flavor_nobody_carries_is_named() -> None:
    """A misspelt node label reads: no member has nodes with gpu-type=a1000."""
    queue = a_queue(flavors=("typo",), cpu=99)
    cluster = a_cluster(a_pool(cpu=8, labels={"gpu-type": "a100"}))
    snapshot = a_snapshot(
        [a_lane(a_demand(), "j")], [cluster], queue,
        flavors=[a_flavor("typo", **{"gpu-type": "a1000"})], key_revisions={"gpu-type": 0},
    )  # fmt: skip
    assert "no member has nodes with gpu-type=a1000" in refusal(decide(snapshot)).message


def test_an_older_report_counts_only_for_jobs_that_need_no_newer_key() -> None:
    """Nodes grouped before a key was asked for can not be judged by it."""
    picky = a_lane(a_demand(a_pod_set(node_selector=(("disk", "ssd"),))), "picky")
    plain = a_lane(a_demand(), "plain", since=1)
    cluster = a_cluster(a_pool(cpu=8, labels={"disk": "ssd"}), pools_revision=1)
    lanes = [picky, plain]
    assert set(where(decide(a_snapshot(lanes, [cluster], key_revisions={"disk": 2})))) == {"plain"}
    assert len(where(decide(a_snapshot(lanes, [cluster], key_revisions={"disk": 1})))) == 2


def test_the_next_flavor_is_taken_when_the_first_has_no_room() -> None:
    """Quota alone does not decide: a flavor that no cluster can hold does not fit."""
    queue = a_queue(flavors=("first", "second"), cpu=99)
    flavors = [a_flavor("first", kind="one"), a_flavor("second", kind="two")]
    clusters = [
        a_cluster(a_pool(cpu=2, labels={"kind": "one"}), name="one"),
        a_cluster(a_pool(cpu=9, labels={"kind": "two"}), name="two"),
    ]
    lane = a_lane(a_demand(a_pod_set(requests={"cpu": 2})), "a", "b", "c")
    plan = decide(a_snapshot([lane], clusters, queue, flavors=flavors, key_revisions={"kind": 0}))
    assert where(plan) == {"a": "one", "b": "two", "c": "two"}


def test_a_placement_policy_decides_instead_of_the_queue() -> None:
    """Its sorters rank, its required affinity filters, also by availability as room is taken."""
    policy = read_policy(
        {
            "placementType": "PickN",
            "numberOfClusters": 1,
            "affinity": {
                "clusterAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "clusterSelectorTerms": [
                            {
                                "propertySelector": {
                                    "matchExpressions": [
                                        {
                                            "name": "resources.kubernetes-fleet.io/available-cpu",
                                            "operator": "Ge",
                                            "values": ["4"],
                                        }
                                    ]
                                }
                            }
                        ]
                    }
                }
            },
        }
    )
    demand = a_demand(constraints=Constraints(policy=policy), placement="p")
    plan = decide(a_snapshot([a_lane(demand, *"abcde")], [room_for(5)]))
    assert set(where(plan)) == {"a", "b"}  # with 5 and 4 cpu available, not with 3


def test_a_preference_by_label_scores_its_weight() -> None:
    """A preference without sorter is its weight where the labels match."""
    policy = Policy("PickN", 1, preferred=(Preferred(7, sorter="x"),))
    demand = a_demand(constraints=Constraints(policy=policy), placement="p")
    plan = decide(a_snapshot([a_lane(demand, "j")], [room_for(4, "a")]))
    assert plan.placements[0].scores[0].score == 0


def test_a_poison_workload_does_not_stop_the_others() -> None:
    """Whatever is raised for one class parks it with the fault as its reason."""
    broken = replace(a_demand(a_pod_set(name="broken")), pod_sets=(None,))
    plan = decide(a_snapshot([a_lane(broken, "bad"), a_lane(a_demand(), "good")], [room_for(4)]))
    assert where(plan) == {"good": "c"}
    assert refusal(plan).reason is Reason.UNREADABLE


def test_a_job_that_requests_nothing_is_placed() -> None:
    """Without requests only a node to run on is needed."""
    demand = a_demand(a_pod_set(requests={}))
    plan = decide(a_snapshot([a_lane(demand, "j")], [room_for(1)]))
    assert where(plan) == {"j": "c"}
    plan = decide(a_snapshot([a_lane(demand, "j")], [a_cluster()]))
    assert refusal(plan).reason is Reason.NO_CLUSTER_FITS


def test_without_clusters_it_is_said_so() -> None:
    """An empty fleet is named as the reason."""
    plan = decide(a_snapshot([a_lane(a_demand(), "j")], []))
    assert refusal(plan).message == "the fleet has no cluster"


def test_a_limit_ends_the_cycle_and_says_so() -> None:
    """A plan that ran into its limit is unfinished: there may be more at once."""
    snapshot = a_snapshot([a_lane(a_demand(), *"abc")], [room_for(9)])
    plan = decide(snapshot, Profile(max_placements=2))
    assert (len(plan.placements), plan.unfinished) == (2, True)


@pytest.mark.parametrize("strict", [False, True])
def test_the_snapshot_is_not_changed(strict: bool) -> None:
    """Two cycles on one snapshot decide the same."""
    snapshot = a_snapshot([a_lane(a_demand(), *"abc")], [room_for(2)], a_queue(strict=strict))
    assert where(decide(snapshot)) == where(decide(snapshot))


def test_set_aside_clusters_are_avoided_until_their_time() -> None:
    """The refusal says when time alone lets it try again."""
    until = NOW.replace(hour=13)
    demand = a_demand(constraints=Constraints(set_aside=(("c", until),)))
    plan = decide(a_snapshot([Lane(demand, [Entry(0, "j", 1)])], [room_for(4)]))
    assert (refusal(plan).reason, refusal(plan).retry_at) == (Reason.NO_CLUSTER_MATCHES, until)


def test_decisions_also_name_clusters_that_have_no_room() -> None:
    """Of a cluster that may but can not hold it, the decision says what it lacks."""
    gpu = a_demand(a_pod_set(requests={"cpu": 1, "gpu": 2}))
    clusters = [a_cluster(a_pool(cpu=8, gpu=4), name="gpu"), room_for(8, "cpu")]
    plan = decide(a_snapshot([a_lane(gpu, "j")], clusters, a_queue(cpu=9, gpu=9)))
    (placement,) = plan.placements
    (rejected,) = placement.rejected
    assert (rejected.cluster, rejected.rejection.message) == (
        "cpu",
        "misses 2 nvidia.com/gpu on one node",
    )


def test_a_decision_names_each_cluster_once() -> None:
    """Clusters without the flavor's nodes are the refused ones; the one that took it is not."""
    queue = a_queue(flavors=("a100",), cpu=99)
    clusters = [room_for(64, "a-plain"), room_for(64, "z-plain")]
    carrier = a_cluster(a_pool(cpu=8, labels={"gpu-type": "a100"}), name="m-carrier")
    snapshot = a_snapshot(
        [a_lane(a_demand(), "j")], [clusters[0], carrier, clusters[1]], queue,
        flavors=[a_flavor("a100", **{"gpu-type": "a100"})], key_revisions={"gpu-type": 0},
    )  # fmt: skip
    (placement,) = decide(snapshot).placements
    assert sorted(v.cluster for v in placement.rejected) == ["a-plain", "z-plain"]
