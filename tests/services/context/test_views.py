"""How rows and decisions look to people and scripts: every field of every view."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.plan import Miss, Reason, Refusal, Rejection, Score, Shortage, TermScore, Verdict
from hub.domain.quota.declared import FlavorResource
from hub.services.context import rendering
from hub.services.context.decisions import refusal_view, score_view, verdict_view
from hub.services.context.rules import rules_of
from hub.services.context.settings import Pods, Queueing, Settings
from hub.store.records.history import StoredEvent
from shared.errors import FieldError, Rejected
from shared.reject_codes import RejectCode
from tests.store.build import START, a_workload, an_object

SECOND = dt.timedelta(seconds=1)
NO, OTHER = Rejection("Health", "Suspect", "silent"), Rejection("Room", "Full", "no room")


def whole(**columns: Any) -> Any:
    """A row whose texts all differ."""
    given = {
        "kind": "Workload", "namespace": "ns", "name": "n", "queue": "lq", "cluster_queue": "cq",
        "state": "Running", "reason": "R", "message": "M", "cluster": "c1", "epoch": 3,
        "origin": "hub-cluster", "priority_class": "pc", "placement": "p", "labels": {"l": "1"},
        "annotations": {"a": "1"}, "admission": {"podSets": []}, "scores": {"s": 1},
        "withdraw_to": "Held", "evicted": {"reason": "E"}, "evictions": {"E": 1},
    }  # fmt: skip
    return a_workload("u", **(given | columns))


def test_a_job_and_its_state_have_their_own_texts():
    """In lists, in what watchers are told, and in the whole of it."""
    listed = {
        "uid": "u",
        "kind": "Workload",
        "namespace": "ns",
        "name": "n",
        "queue": "lq",
        "state": "Running",
        "reason": "R",
        "cluster": "c1",
        "epoch": 3,
    }
    times = {"createdAt": "2026-03-01T12:00:00Z", "startedAt": None, "finishedAt": None}
    unread = {"owner": "unknown", "requests": None}
    assert rendering.job(whole()) == listed | times | unread
    assert rendering.state(whole()) == listed | {"clusterQueue": "cq"}
    told = rendering.whole_job(whole(), {"m": 1}, [{"p": 1}])
    texts = {
        "message": "M",
        "origin": "hub-cluster",
        "clusterQueue": "cq",
        "priorityClass": "pc",
        "placement": "p",
        "podSets": [{"p": 1}],
        "admission": {"podSets": []},
        "decision": {"s": 1},
        "labels": {"l": "1"},
        "annotations": {"a": "1"},
        "withdrawTo": "Held",
        "evicted": {"reason": "E"},
        "evictions": {"E": 1},
        "manifest": {"m": 1},
    }
    assert {name: told[name] for name in texts} == texts
    assert rendering.whole_job(whole(evictions=None), None, None)["evictions"] == {}


def test_an_event_and_a_refusal_have_their_own_texts():
    """Every field of them."""
    told = ("R", "M", "c1", 3, "Why", "pod-0", START)
    event = StoredEvent(7, START, "u", "Job", "ns", "n", "Warning", *told)
    assert rendering.event(event) == {
        "id": 7, "at": "2026-03-01T12:00:00Z", "uid": "u", "kind": "Job", "namespace": "ns",
        "name": "n", "type": "Warning", "reason": "R", "message": "M", "cluster": "c1",
        "epoch": 3, "cause": "Why", "subject": "pod-0", "memberAt": "2026-03-01T12:00:00Z",
    }  # fmt: skip
    wrong = FieldError("spec.a", RejectCode.IMMUTABLE, "no")
    assert rendering.refusal(Rejected(RejectCode.INVALID_NAME, "text", "f", (wrong,))) == {
        "code": "InvalidName",
        "detail": "text",
        "errors": [{"field": "spec.a", "code": "Immutable", "message": "no"}],
    }


OWNED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "X",
    "metadata": {"name": "n", "labels": {"l": "1"}, "uid": "sent", "ownerReferences": [1]},
    "spec": {"sent": True},
    "status": {"sent": True},
}


def test_an_object_is_as_it_was_sent_with_what_the_hub_knows():
    """Its own uid, generation, version, times and status; no owners of another cluster; where it is from."""
    row = an_object("o", generation=4, manifest=OWNED, origin="hub-cluster", spec={"read": True})
    metadata = {
        "name": "n", "labels": {"l": "1"}, "uid": "o", "generation": 4,
        "creationTimestamp": "2026-03-01T12:00:00Z", "resourceVersion": row.hash[:16],
    }  # fmt: skip
    assert rendering.whole_object(row) == {
        **OWNED, "metadata": metadata, "origin": "hub-cluster",
    }  # fmt: skip
    going = row._replace(deleted_at=START + SECOND, status={"mine": 1})
    assert rendering.whole_object(going) == {
        **OWNED,
        "metadata": metadata | {"deletionTimestamp": "2026-03-01T12:00:01Z"},
        "status": {"mine": 1},
        "origin": "hub-cluster",
    }
    assert OWNED["metadata"]["uid"] == "sent", "what is stored is left alone"


@pytest.mark.parametrize(
    ("version", "kind", "given", "shown", "spec"),
    [
        ("v1beta1", "ClusterQueue", {"a": 1}, "v1beta2", {"read": True}),
        ("v1beta2", "ClusterQueue", {"a": 1}, "v1beta2", {"a": 1}),
        ("v1beta1", "ClusterQueue", None, "v1beta1", None),
    ],
)
def test_an_older_version_is_shown_as_it_is_read(version, kind, given, shown, spec):
    """What has no spec stays as it was sent."""
    group = "kueue.x-k8s.io"
    manifest = {"apiVersion": f"{group}/{version}"} | ({} if given is None else {"spec": given})
    row = an_object(
        "o", api_group=group, api_version=f"{group}/{version}", kind=kind,
        manifest=manifest, spec={"read": True},
    )  # fmt: skip
    told = rendering.whole_object(row)
    assert (told["apiVersion"], told.get("spec")) == (f"{group}/{shown}", spec)


def test_a_workload_that_is_kept_has_its_owners():
    """It is told by them from one that waits on its own."""
    group = "kueue.x-k8s.io"
    row = an_object("o", api_group=group, api_version=f"{group}/v1beta2", kind="Workload",
                    manifest=OWNED)  # fmt: skip
    assert rendering.whole_object(row)["metadata"]["ownerReferences"] == [1]


TERMS = (TermScore("cpu", 2, 30, 0.5), TermScore("gpu", 1, 0, None))
TERMS_SHOWN = [
    {"name": "cpu", "weight": 2, "score": 30, "value": 0.5},
    {"name": "gpu", "weight": 1, "score": 0, "value": None},
]


def test_a_score_is_shown_with_what_made_it():
    """Of the cluster that was chosen, and of one that was not."""
    best = Score("c1", 60, TERMS, 5, (("p", 2),))
    other = Score("c2", 40, TERMS, 4, running=3)
    won, lost = score_view(best, best), score_view(other, best)
    assert won.pop("message").endswith("; needs 2 new nodes of pool p")
    assert "60" not in lost.pop("message").split(":")[0]
    assert won == {
        "cluster": "c1", "selected": True, "score": 60, "topologyScore": 5,
        "reason": "Scheduled", "terms": TERMS_SHOWN,
    }  # fmt: skip
    assert lost == {
        "cluster": "c2", "selected": False, "score": 40, "topologyScore": 4,
        "reason": "ScoreNotHighEnough", "terms": TERMS_SHOWN, "running": 3,
    }  # fmt: skip


def test_a_verdict_has_its_rule():
    """In the shape of a score."""
    assert verdict_view(Verdict("c1", NO)) == {
        "cluster": "c1", "selected": False, "score": 0, "topologyScore": 0, "rule": "Health",
        "reason": "Suspect", "message": "silent", "terms": [],
    }  # fmt: skip


def test_a_refusal_is_shown_with_its_figures():
    """Every shortage, every cluster, the nearest one, whom it waits behind, and until when."""
    cpu, memory = FlavorResource("f", "cpu"), FlavorResource("g", "memory")
    refusal = Refusal(
        "d", "q", Reason.WAITING_FOR_QUOTA, "m",
        (Shortage(cpu, 3000, 2000, 4000), Shortage(memory, 4 << 30, 1 << 30, 2 << 30, "all")),
        (Verdict("c1", NO), Verdict("c2", OTHER)),
        Miss("c2", "main", {"cpu": 500}, 1, 2), "head", START,
    )  # fmt: skip
    told = refusal_view(refusal)
    assert [each["cluster"] for each in told.pop("clusters")] == ["c1", "c2"]
    assert told == {
        "queue": "q",
        "reason": "WaitingForQuota",
        "message": "m",
        "head": "head",
        "quota": [
            {
                "flavor": "f", "resource": "cpu", "asked": "3", "used": "2", "limit": "4",
                "missing": "1", "cohort": "",
                "message": "cpu of flavor f: 3 asked, 2 of 4 used, 1 more needed",
            },
            {
                "flavor": "g", "resource": "memory", "asked": "4Gi", "used": "1Gi",
                "limit": "2Gi", "missing": "2Gi", "cohort": "all",
                "message": (
                    "memory of flavor g: 4Gi asked, at most 2Gi in cohort all, 2Gi more needed"
                ),
            },
        ],
        "nearest": {
            "cluster": "c2", "podSet": "main", "missing": {"cpu": "500m"}, "pods": 1, "count": 2,
            "message": "cluster c2 misses 500m cpu on one node",
        },
        "never": False,
        "retryAt": "2026-03-01T12:00:00+00:00",
    }  # fmt: skip
    plain = refusal_view(Refusal("d", "q", Reason.BEHIND_HEAD, "m"))
    assert (plain["quota"], plain["clusters"], plain["nearest"], plain["retryAt"]) == (
        [], [], None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("fair_sharing", "fair"),
        ("block_admission", "block_admission"),
        ("partial_admission", "partial"),
        ("preempt_for_capacity", "for_room"),
        ("preemptors_first", "preemptors_first"),
        ("ignore_undeclared_resources", "ignore_undeclared"),
    ],
)
def test_each_switch_is_its_own_rule(setting, field):
    """On and Off of one change that one, whatever the others are by default."""
    given: list[dict[str, Any]] = [{setting: value} for value in ("Off", "On")]
    off, on = (rules_of(Queueing(**each), START) for each in given)
    assert (getattr(off, field), getattr(on, field)) == (False, True)
    assert _others(off, field) == _others(on, field)


def _others(rules: Any, field: str) -> dict[str, Any]:
    names = [name for name in rules.__dataclass_fields__ if name != field]
    return {name: getattr(rules, name) for name in names}


def test_lists_of_rules_keep_their_order():
    """Strategies and orders of victims as they were named; queues in any."""
    rules = rules_of(
        Queueing(
            victim_order=" Smallest , MostRecent",
            non_preemptible_queues="b, a,",
            fair_sharing_strategies="LessThanInitialShare",
        ),
        START,
    )
    assert rules.limits.order == ("Smallest", "MostRecent")
    assert rules.limits.protected == {"a", "b"}
    assert rules.strategies == ("LessThanInitialShare",)
    with pytest.raises(ValueError, match="Nearest is none of"):
        rules_of(Queueing(victim_order="Smallest,Nearest"), START)


def test_intake_knows_what_others_set():
    """Which queues never preempt, and what pods may ask for."""
    given = Settings(
        queueing=Queueing(non_preemptible_queues="w"), pods=Pods(security="restricted")
    )
    assert given.intake.protected_queues == "w"
    assert given.intake.pods == Pods(security="restricted").rules()
