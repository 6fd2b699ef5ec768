"""Strategies, runs and requests of staged updates, as KubeFleet's definitions take and refuse them."""

from typing import Any

import pytest

from shared.errors import Rejected
from shared.kinds import parse
from shared.kinds.crds import all_crds
from shared.kinds.staged_v1 import fault_of_change, wait_s

STAGE = {"name": "canary", "labelSelector": {}}


def a_strategy(*stages: dict[str, Any], version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"placement.kubernetes-fleet.io/{version}",
        "kind": "ClusterStagedUpdateStrategy",
        "metadata": {"name": "careful"},
        "spec": {"stages": list(stages) or [STAGE], **spec},
    }


def a_run(name: str = "r", **spec: Any) -> dict[str, Any]:
    given = {"placementName": "p", "stagedRolloutStrategyName": "careful", **spec}
    return {**a_strategy(), "kind": "ClusterStagedUpdateRun", "metadata": {"name": name}} | {
        "spec": given
    }


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_defaults_are_kubefleets(version: str) -> None:
    """One cluster at a time; a run is initialised and not begun. No selector stays none."""
    (stage,) = parse(a_strategy({"name": "a"}, version=version)).spec["stages"]
    assert stage == {"name": "a", "maxConcurrency": 1}
    assert parse(a_run()).spec["state"] == "Initialize"


def staged(**stage: Any) -> dict[str, Any]:
    return a_strategy({**STAGE, **stage})


ONE = "spec.stages[0]"
APPROVAL, WAIT = {"type": "Approval"}, {"type": "TimedWait", "waitTime": "1h30m"}
REFUSED = [
    (staged(name="Canary"), f"{ONE}.name", "InvalidValue"),
    (staged(maxConcurrency=0), f"{ONE}.maxConcurrency", "OutOfRange"),
    (staged(maxConcurrency="0%"), f"{ONE}.maxConcurrency", "OutOfRange"),
    (staged(maxConcurrency="101%"), f"{ONE}.maxConcurrency", "OutOfRange"),
    (staged(maxConcurrency=True), f"{ONE}.maxConcurrency", "InvalidType"),
    (staged(beforeStageTasks=[WAIT]), f"{ONE}.beforeStageTasks[0].type", "InvalidCombination"),
    (staged(beforeStageTasks=[APPROVAL] * 2), f"{ONE}.beforeStageTasks", "TooManyItems"),
    (staged(afterStageTasks=[APPROVAL] * 2), f"{ONE}.afterStageTasks[1].type", "Duplicate"),
    (staged(afterStageTasks=[APPROVAL, WAIT, WAIT]), f"{ONE}.afterStageTasks", "TooManyItems"),
    (
        staged(afterStageTasks=[{"type": "TimedWait"}]),
        f"{ONE}.afterStageTasks[0].waitTime",
        "InvalidCombination",
    ),
    (
        staged(afterStageTasks=[{"type": "Approval", "waitTime": "1h"}]),
        f"{ONE}.afterStageTasks[0].waitTime",
        "InvalidCombination",
    ),
    (
        staged(afterStageTasks=[{"type": "TimedWait", "waitTime": "1d"}]),
        f"{ONE}.afterStageTasks[0].waitTime",
        "InvalidValue",
    ),
    (a_strategy(STAGE, STAGE), "spec.stages[1].name", "Duplicate"),
    (
        a_strategy(*({"name": f"s{i}"} for i in range(32))),
        "spec.stages",
        "TooManyItems",
    ),
    (a_strategy(progressDeadlineSeconds=0), "spec.progressDeadlineSeconds", "OutOfRange"),
    (a_strategy(stopAfterFailedClusters=0), "spec.stopAfterFailedClusters", "OutOfRange"),
    (a_run(state="Pause"), "spec.state", "UnsupportedValue"),
    (a_run(resourceSnapshotIndex="-1"), "spec.resourceSnapshotIndex", "InvalidValue"),
    (a_run("r" * 64), "metadata.name", "InvalidName"),
]


@pytest.mark.parametrize(("manifest", "field", "code"), REFUSED)
def test_what_can_not_be_meant_is_refused(manifest: Any, field: str, code: str) -> None:
    """With the field and a code, as KubeFleet's definitions and rules refuse it."""
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert [(e.field, e.code) for e in refused.value.errors] == [(field, code)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("0s", 0), ("1.5m", 90)]
)
def test_waits_are_hours_minutes_and_seconds(text: str, seconds: float) -> None:
    """Parts add up, and may have fractions."""
    assert wait_s(text) == seconds


RUN = "ClusterStagedUpdateRun"


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({"state": "Initialize"}, {"state": "Run"}, ""),
        ({"state": "Run"}, {"state": "Stop"}, ""),
        ({"state": "Stop"}, {"state": "Run"}, ""),
        ({"state": "Initialize"}, {"state": "Stop"}, "spec.state"),
        ({"state": "Run"}, {"state": "Initialize"}, "spec.state"),
        ({"state": "Stop"}, {"state": "Initialize"}, "spec.state"),
        ({"placementName": "a"}, {"placementName": "b"}, "spec.placementName"),
        ({}, {"resourceSnapshotIndex": "1"}, "spec.resourceSnapshotIndex"),
        ({"resourceSnapshotIndex": ""}, {}, ""),
        (
            {"stagedRolloutStrategyName": "a"},
            {"stagedRolloutStrategyName": "b"},
            "spec.stagedRolloutStrategyName",
        ),
    ],
)
def test_of_a_run_the_state_alone_changes(before: Any, after: Any, field: str) -> None:
    """From Initialize to Run, and between Run and Stop."""
    assert fault_of_change(RUN, before, after)[0] == field


def test_a_request_stays_and_a_strategy_may_change() -> None:
    """Runs have frozen the strategy that they were worked out from."""
    assert fault_of_change("ApprovalRequest", {"targetStage": "a"}, {"targetStage": "b"})[0]
    assert fault_of_change("StagedUpdateStrategy", {"stages": []}, {"stages": [1]}) == ("", "")


def test_the_hub_cluster_serves_them_as_kubefleet_does() -> None:
    """Short names, a status of their own where KubeFleet has one, its printer columns."""
    found = {crd["spec"]["names"]["kind"]: crd["spec"] for crd in all_crds().values()}
    short = {kind: (spec["names"].get("shortNames") or [""])[0] for kind, spec in found.items()}
    assert [
        short[f"{scope}{kind}"]
        for kind in ("StagedUpdateStrategy", "StagedUpdateRun", "ApprovalRequest")
        for scope in ("Cluster", "")
    ] == ["csus", "sus", "csur", "sur", "careq", "areq"]
    served = {v["name"]: v for v in found[RUN]["versions"]}
    assert served["v1beta1"]["storage"]
    assert served["v1"]["subresources"] == {"status": {}}
    names = [each["name"] for each in served["v1"]["additionalPrinterColumns"]]
    assert names[:6] == [
        "Placement", "Resource-Snapshot-Index", "Policy-Snapshot-Index",
        "Initialized", "Progressing", "Succeeded",
    ]  # fmt: skip
    assert "subresources" not in found["StagedUpdateStrategy"]["versions"][0]
