"""Which flavor is chosen, and how far the search goes."""

from dataclasses import replace
from typing import Any

import pytest

from hub.domain.admission.flavor_assigner import Mode, Outlook, Request, search
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.plan import Reason
from hub.domain.quota.declared import Flavor
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.workloads.demand import Demand
from tests.domain.build import a_demand, a_queue as a_plain_queue
from tests.offline.build import (
    Q,
    a_flavor,
    a_holder,
    a_queue,
    a_workload,
    play,
    pods,
)

_FLAVORS = [a_flavor("uno"), a_flavor("due"), a_flavor("tre")]
GPU = "nvidia.com/gpu"


def _queues(**fungibility: str) -> list[Any]:
    ten = {"uno": 10, "due": 10, "tre": 10}
    policy: dict[str, Any] = {"within": "LowerPriority", "reclaim": "Any"}
    none = {"uno": 0, "due": 0, "tre": 0}
    return [
        a_queue("q", ten, "all", resource=GPU, flavorFungibility=fungibility, **policy),
        a_queue("other", none, "all", resource=GPU),
    ]


def _used(*more: str) -> list[Any]:
    return [
        a_holder("own", "q", 1, flavor="uno", resource=GPU, prio=-1),
        *(a_holder(f"other-{f}", "other", 1, flavor=f, resource=GPU) for f in more),
    ]


def test_g1_a_flavor_that_fits_goes_before_preemption() -> None:
    """With TryNextFlavor the search passes two that need preemption and finds the third."""
    played = play(
        _FLAVORS, _queues(whenCanPreempt="TryNextFlavor"), _used("due"),
        a_workload("new", "q", 10, resource=GPU),
    )  # fmt: skip
    assert played.verdict("new") == ("admitted", None)
    assert played.flavor("new", GPU) == "tre"


@pytest.mark.parametrize(
    ("policy", "flavor", "victims"),
    [
        ("TryNextFlavor", "due", {"other-due": "InCohortReclamation"}),
        ("MayStopSearch", "uno", {"own": "InClusterQueue"}),
    ],
)
def test_g2_reclaiming_is_better_than_preempting_ones_own(
    policy: str, flavor: str, victims: dict[str, str]
) -> None:
    """Of flavors that need preemption, the first at others' cost; MayStopSearch stops at uno."""
    played = play(
        _FLAVORS, _queues(whenCanPreempt=policy), _used("due", "tre"),
        a_workload("new", "q", 10, resource=GPU),
    )  # fmt: skip
    assert played.flavor("new", GPU) == flavor
    assert played.victims("new") == victims


def test_g4_a_flavor_without_candidates_does_not_stop_the_search() -> None:
    """The first flavor would need preemption and finds nobody; the second fits."""
    played = play(
        _FLAVORS,
        a_queue(
            "q", {"uno": 10, "due": 10}, flavorFungibility={"whenCanPreempt": "MayStopSearch"}
        ),
        a_holder("h", "q", 1, flavor="uno"),
        a_workload("new", "q", 10),
    )
    assert (played.verdict("new"), played.flavor("new")) == (("admitted", None), "due")


@pytest.mark.parametrize(
    ("one", "flavor"),
    [
        (4, "due"),
        (2, "uno"),
        (9, "uno"),  # nowhere: it is admitted all the same
    ],
)
def test_a_pod_set_without_pods_takes_a_flavor_with_room_for_one(one: int, flavor: str) -> None:
    """Nothing is charged; the first flavor in which a pod would fit, else the first."""
    played = play(
        _FLAVORS,
        a_queue("q", {"uno": 3, "due": 4}),
        a_holder("h", "q", 1, flavor="uno"),
        a_workload("new", "q", pod_sets=[pods(one, 0)]),
    )
    assert (played.verdict("new"), played.flavor("new")) == (("admitted", None), flavor)


@pytest.mark.parametrize(
    ("fungibility", "flavor"),
    [
        ({}, "uno"),
        ({"whenCanBorrow": "TryNextFlavor"}, "due"),
    ],
)
def test_borrowing_or_the_next_flavor(fungibility: dict[str, str], flavor: str) -> None:
    """MayStopSearch borrows in the first flavor; TryNextFlavor prefers the one within quota."""
    played = play(
        _FLAVORS,
        a_queue("q", {"uno": 2, "due": 10}, "all", flavorFungibility=fungibility),
        a_queue("lender", {"uno": 10, "due": 0}, "all"),
        a_workload("new", "q", 5),
    )
    assert played.flavor("new") == flavor


@pytest.mark.parametrize(
    ("preference", "flavor"),
    [("BorrowingOverPreemption", "uno"), ("PreemptionOverBorrowing", "due")],
)
def test_preference_between_borrowing_and_preemption(preference: str, flavor: str) -> None:
    """With both policies TryNextFlavor the preference decides between borrowing and preempting."""
    played = play(
        _FLAVORS,
        a_queue(
            "q", {"uno": 2, "due": 5}, "all", within="LowerPriority",
            flavorFungibility={
                "whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor",
                "preference": preference,
            },
        ),
        a_queue("lender", {"uno": 10, "due": 0}, "all"),
        a_holder("low", "q", 5, flavor="due", prio=-1),
        a_workload("new", "q", 5),
    )  # fmt: skip
    assert played.flavor("new") == flavor


def test_taints_and_selectors() -> None:
    """Untolerated taints and contradicted selectors pass a flavor; foreign keys do not matter."""
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    played = play(
        a_flavor("spot", nodeTaints=[taint]),
        a_flavor("intel", nodeLabels={"arch": "intel"}),
        a_flavor("arm", nodeLabels={"arch": "arm"}),
        a_queue("q", {"spot": 9, "intel": 9, "arm": 9}),
        a_queue("p", {"spot": 9, "intel": 9, "arm": 9}),
        a_workload("plain", "q", pod_sets=[pods(nodeSelector={"arch": "arm", "zone": "b"})]),
        a_workload("tolerant", "p", pod_sets=[pods(tolerations=[
            {"key": "spot", "operator": "Exists"}])]),
    )  # fmt: skip
    assert (played.flavor("plain"), played.flavor("tolerant")) == ("arm", "spot")


def test_one_flavor_for_all_resources_of_a_group() -> None:
    """Resources of one group take the same flavor; groups choose independently."""
    played = play(
        _FLAVORS,
        a_queue("q", groups=[
            {"coveredResources": ["cpu", "memory"], "flavors": [
                {"name": f, "resources": [
                    {"name": "cpu", "nominalQuota": cpu},
                    {"name": "memory", "nominalQuota": memory}]}
                for f, cpu, memory in (("uno", 9, "1Gi"), ("due", 9, "9Gi"))]},
            {"coveredResources": [GPU], "flavors": [
                {"name": "tre", "resources": [{"name": GPU, "nominalQuota": 1}]}]},
        ]),
        a_workload("new", "q", {"cpu": "5", "memory": "2Gi", GPU: "1"}),
    )  # fmt: skip
    flavors = played.of("new")["podSets"][0]["flavors"]
    assert flavors == {"cpu": "due", "memory": "due", GPU: "tre"}


def test_later_pod_sets_see_what_earlier_ones_take() -> None:
    """The second pod set finds the first flavor taken by the first."""
    played = play(
        _FLAVORS,
        a_queue("q", {"uno": 5, "due": 5}),
        a_workload("new", "q", pod_sets=[pods(1, 5, name="one"), pods(1, 5, name="two")]),
    )
    assert [p["flavors"]["cpu"] for p in played.of("new")["podSets"]] == ["uno", "due"]


def test_pods_are_charged_where_they_are_covered() -> None:
    """A covered resource `pods` is charged with the number of pods."""
    played = play(
        a_queue("q", {"default": {"cpu": 100, "pods": 3}}),
        a_workload("new", "q", pod_sets=[pods(1, 4)]),
    )
    assert played.of("new")["reason"] == "ExceedsMaxQuota"


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({}, ("pending", "parked")),
        ({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}, ("admitted", None)),
        ({"resources": {"excludeResourcePrefixes": ["mem"]}}, ("admitted", None)),
    ],
)
def test_undeclared_resources(settings: dict[str, Any], verdict: tuple[str, str | None]) -> None:
    """A request for a resource of no group does not fit, unless configuration passes over it."""
    played = play(
        a_queue("q", 5),
        a_workload("new", "q", {"cpu": "1", "memory": "1Gi"}),
        settings=settings,
    )
    assert played.verdict("new") == verdict


def test_severity_of_reasons() -> None:
    """Of alternative flavors the least severe reason is said, of pod sets the most severe."""
    played = play(
        _FLAVORS,
        a_queue("q", {"uno": Q(2), "due": 5}),
        a_holder("h", "q", 3, flavor="due"),
        a_workload("new", "q", 5),
    )
    assert played.of("new")["reason"] == "WaitingForQuota"


@pytest.mark.parametrize(
    ("preference", "flavor", "decision"),
    [
        (None, "f1", "admitted"),
        ("BorrowingOverPreemption", "f1", "admitted"),
        ("PreemptionOverBorrowing", "f2", "preempting"),
    ],
)
def test_borrow_or_preempt(preference: str | None, flavor: str, decision: str) -> None:
    """With both policies TryNextFlavor the preference says: borrow in f1, or preempt in f2."""
    fungibility = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
    if preference:
        fungibility["preference"] = preference
    played = play(
        a_flavor("f1"), a_flavor("f2"),
        a_queue("a", {"f1": 0, "f2": 2}, "all", within="LowerPriority", flavorFungibility=fungibility),
        a_queue("b", {"f1": 2, "f2": 0}, "all"),
        a_holder("low", "a", 2, flavor="f2", prio=-1),
        a_workload("w", "a", 2),
    )  # fmt: skip
    assert (played.flavor("w"), played.of("w")["decision"]) == (flavor, decision)


@pytest.mark.parametrize(("asked", "reason"), [(4, "WaitingForQuota"), (5, "ExceedsMaxQuota")])
def test_what_the_queue_could_have_is_waited_for(asked: int, reason: str) -> None:
    """All of its quota is not more than it can ever have."""
    played = play(a_queue("q", 4), a_holder("h", "q", 1), a_workload("w", "q", asked))
    assert played.of("w")["reason"] == reason


@pytest.mark.parametrize(("asked", "reason"), [(8, "WaitingForQuota"), (9, "ExceedsMaxQuota")])
def test_what_the_cohort_could_lend_is_waited_for(asked: int, reason: str) -> None:
    """All of it is not more than the queue can ever have."""
    played = play(
        a_queue("q", 4, "all"), a_queue("r", 4, "all"), a_holder("h", "r", 1), a_workload("w", "q", asked)
    )  # fmt: skip
    assert played.of("w")["reason"] == reason


def test_of_flavors_that_will_not_do_the_least_severe_reason_is_told() -> None:
    """One whose quota may become free is worth waiting for, though another is not for such pods."""
    played = play(
        a_flavor("uno", nodeLabels={"kind": "uno"}), a_flavor("due", nodeLabels={"kind": "due"}),
        a_queue("q", {"uno": 4, "due": 4}, "all"), a_queue("r", {"uno": 4, "due": 4}, "all"),
        a_holder("h", "r", 4, flavor="due"),
        a_workload("w", "q", pod_sets=[pods(6, nodeSelector={"kind": "due"})]),
    )  # fmt: skip
    assert played.of("w")["reason"] == "WaitingForQuota"
    assert "the pods select" not in played.of("w")["message"]


def test_what_others_took_of_a_cohort_is_gone() -> None:
    """Of eight that the queue could have six are gone, none of them its own: two more are needed."""
    played = play(
        a_queue("q", 4, "all"), a_queue("r", 4, "all"),
        a_holder("h", "r", 6), a_workload("w", "q", 4),
    )  # fmt: skip
    assert (
        "cpu of flavor default: 4 asked, 6 of 8 used in cohort all, 2 more needed"
        in played.of("w")["message"]
    )


@pytest.mark.parametrize(("prefix", "verdict"), [("example.com/", "admitted"), ("", "pending")])
def test_resources_with_an_excluded_prefix_are_not_counted(prefix: str, verdict: str) -> None:
    """Whatever follows the prefix; without one all are counted, and this one has no quota."""
    rules = {"resources": {"excludeResourcePrefixes": [prefix]}} if prefix else None
    requests = {"cpu": "1", "example.com/dongle": "1"}
    played = play(a_queue("q", 4), a_workload("w", "q", pod_sets=[pods(requests)]), settings=rules)
    assert played.of("w")["decision"] == verdict


def test_a_queue_whose_flavors_are_gone_admits_nothing() -> None:
    """The flavor that does not exist is named."""
    request = _request(a_demand(), flavors=("any", "gone"), cpu=1)
    found = search(replace(request, catalog=FlavorCatalog({}, {})))
    assert (found.mode, found.reason) == (Mode.NO_FIT, Reason.NO_MATCHING_FLAVOR)
    assert found.message == "pod set main: flavor any does not exist; flavor gone does not exist"


def _request(demand: Demand, **quota: Any) -> Request:
    """Of a queue by itself, without clusters."""
    queue = a_plain_queue(**quota)
    tree = Ledger([queue]).tree
    catalog = FlavorCatalog({f: Flavor(f) for f in queue.groups[0].flavors}, {})
    return Request(
        demand.pod_sets, queue, QueuePolicy(), catalog, tree, tree.queues["q"],
        oracle=lambda of, amount: Outlook(Mode.NO_CANDIDATES, 0),
    )  # fmt: skip


def test_only_the_flavors_that_are_kept_are_looked_at() -> None:
    """Another look at what was assigned tries nothing else; where nothing is left, that is said."""
    request = _request(a_demand(), flavors=("a", "b"), cpu=1)
    kept = search(replace(request, keep=({"cpu": "b"},)))
    assert kept.assignment is not None
    assert kept.assignment.pod_sets[0].flavors == (("cpu", "b"),)
    none = search(replace(request, keep=({"cpu": "c"},)))
    assert (none.reason, none.message) == (
        Reason.NO_MATCHING_FLAVOR,
        "pod set main: the queue has no flavor left",
    )


@pytest.mark.parametrize(("resume", "flavor"), [(-1, "a"), (0, "b")])
def test_a_search_goes_on_after_the_last_flavor_tried(resume: int, flavor: str) -> None:
    """From the first where none was left, else from the next one."""
    request = replace(_request(a_demand(), flavors=("a", "b"), cpu=1), resume=({"cpu": resume},))
    found = search(request)
    assert found.assignment is not None
    assert found.assignment.pod_sets[0].flavors == (("cpu", flavor),)
    assert found.untried_flavors == (flavor == "a")


def test_more_than_the_queue_can_ever_have_is_said_without_what_is_used_now() -> None:
    """Only resources of which more is asked than there ever is; who uses them changes nothing."""
    flavor = {"name": "default", "resources": [
        {"name": "cpu", "nominalQuota": "4"}, {"name": "memory", "nominalQuota": "4Gi"},
    ]}  # fmt: skip
    group = {"coveredResources": ["cpu", "memory"], "flavors": [flavor]}
    played = play(
        a_queue("q", groups=[group]), a_holder("h", "q", {"cpu": "1", "memory": "3Gi"}),
        a_workload("w", "q", pod_sets=[pods({"cpu": "5", "memory": "2Gi"})]),
    )  # fmt: skip
    assert played.of("w")["reason"] == "ExceedsMaxQuota"
    assert played.of("w")["message"] == (
        "pod set main: more than the queue can ever have: cpu of flavor default: 5 asked, at most 4, 1 more "
        "needed"
    )
