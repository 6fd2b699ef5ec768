"""A staged update run on real agents, through kubectl and the command alone.

hub cluster: Deployment ──placement (External)──► run: canary (m1), approval, rest (m2 … m4, two at a time)
"""

import json
from typing import Any

import pytest

from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
MEMBERS = ("m1", "m2", "m3", "m4")
GROUP = "placement.kubernetes-fleet.io"
NEVER = "registry.invalid/web:3"  # pods of it can not be pulled
PATIENT_S, SHORT_S = (
    150,
    20,
)  # deadlines: that a busy machine keeps, and that no pod of NEVER keeps
STRATEGY = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: careful}
spec:
  progressDeadlineSeconds: %d
  stopAfterFailedClusters: 1
  stages:
  - name: canary
    labelSelector: {matchLabels: {tier: canary}}
    afterStageTasks: [{type: Approval}]
  - name: rest
    labelSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}
    maxConcurrency: 2
"""


def manifests(image: str) -> str:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "{image}"}}]}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: shop}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: shop}}]
  strategy: {{type: External}}
"""


def a_run(name: str, state: str = "Run") -> str:
    return f"""
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateRun
metadata: {{name: {name}}}
spec: {{placementName: shop, stagedRolloutStrategyName: careful, state: {state}}}
"""


def applied(fleet: RunningFleet, text: str) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr


def images(fleet: RunningFleet) -> list[str]:
    """The last character of the image of each member, "-" for nothing."""
    found = []
    for member in MEMBERS:
        spec = fleet.find("deployments.v1.apps", "web", "shop", cluster=member).get("spec", {})
        containers = spec.get("template", {}).get("spec", {}).get("containers") or [{"image": "-"}]
        found.append(containers[0]["image"][-1])
    return found


def conditions(fleet: RunningFleet, kind: str, name: str) -> dict[str, Any]:
    status = fleet.find(f"{kind}.v1.{GROUP}", name).get("status") or {}
    return {each["type"]: each for each in status.get("conditions") or ()}


def progress(fleet: RunningFleet, name: str) -> str:
    told = conditions(fleet, "clusterstagedupdateruns", name).get("Progressing") or {}
    return str(told.get("reason") or "").removeprefix("UpdateRun")


def rung(fleet: RunningFleet) -> dict[str, Any]:
    return conditions(fleet, "clusterresourceplacements", "shop")[
        "ClusterResourcePlacementRolloutStarted"
    ]


def approve(fleet: RunningFleet, name: str) -> None:
    """As KubeFleet's users do."""
    approval = {
        "type": "Approved",
        "status": "True",
        "reason": "lgtm",
        "message": "lgtm",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    done = fleet.kubectl(
        "patch", "clusterapprovalrequests", name, "--type=merge", "--subresource=status",
        "-p", json.dumps({"status": {"conditions": [approval]}}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_stages_approval_stop_failure_and_the_way_back(tmp_path):
    """One canary and an approval, then two at a time; what never becomes available stops the run there."""
    members = equal_members(4)
    members[0]["labels"] = {"tier": "canary"}
    with running_fleet(tmp_path, members, packed=True) as fleet:
        _through_both_stages(fleet)
        _stopped_and_resumed(fleet)
        _failed_and_back(fleet)


def _through_both_stages(fleet: RunningFleet) -> None:
    """The request is approved as KubeFleet's users do."""
    applied(fleet, manifests("example.com/web:1") + "---" + STRATEGY % PATIENT_S)
    until(
        lambda: "Deployment" in str(fleet.find(f"clusterresourceplacements.v1.{GROUP}", "shop")),
        30,
        "what is selected is known",
    )
    applied(fleet, a_run("first"))
    until(lambda: progress(fleet, "first") == "Waiting", 60, "the canary is done")
    assert images(fleet) == ["1", "-", "-", "-"]
    until(lambda: fleet.kubectl("get", "careq", "first-after-canary").returncode == 0, 20, "seen")
    approve(fleet, "first-after-canary")
    until(lambda: progress(fleet, "first") == "Succeeded", 60, "all have the first version")
    assert images(fleet) == ["1"] * 4
    told = conditions(fleet, "clusterapprovalrequests", "first-after-canary")
    assert told["ApprovalAccepted"]["status"] == "True"
    until(
        lambda: rung(fleet)["status"] == "True",
        20,
        "the placement says so",
    )


def _stopped_and_resumed(fleet: RunningFleet) -> None:
    """By kubectl, between its stages; approved meanwhile by the command."""
    applied(fleet, manifests("example.com/web:2"))
    until(
        lambda: "waits for a run" in rung(fleet)["message"],
        30,
        "the change is seen",
    )
    applied(fleet, a_run("second"))
    until(lambda: progress(fleet, "second") == "Waiting", 60, "the canary has the second")
    applied(fleet, a_run("second", "Stop"))
    until(lambda: progress(fleet, "second") == "Stopped", 30, "it is stopped")
    done = fleet.cli("rollouts", "approve", "second")
    assert done.returncode == 0, done.stderr
    assert images(fleet) == ["2", "1", "1", "1"]
    applied(fleet, a_run("second"))
    until(lambda: progress(fleet, "second") == "Succeeded", 60, "all have the second")


def _failed_and_back(fleet: RunningFleet) -> None:
    """A version that never becomes available stops at the canary; the way back is one command."""
    applied(fleet, manifests(NEVER) + "---" + STRATEGY % SHORT_S)
    until(
        lambda: "waits for a run" in rung(fleet)["message"],
        30,
        "the change is seen",
    )
    applied(fleet, a_run("third"))
    until(lambda: progress(fleet, "third") == "Stopped", 60, "it stops by itself")
    assert images(fleet) == ["3", "2", "2", "2"]
    shown = fleet.cli("rollouts", "show", "third").stdout
    assert "roll back: roadstead rollouts rollback third" in shown, shown
    done = fleet.cli("rollouts", "rollback", "third")
    assert done.returncode == 0, done.stderr
    until(lambda: images(fleet) == ["2"] * 4, 60, "the canary is back")
    until(lambda: progress(fleet, "third") == "Failed", 30, "the run was taken over")
    until(lambda: fleet.cli("rollouts", "approve", "third-back-1").returncode == 0, 60, "asked")
    until(lambda: progress(fleet, "third-back-1") == "Succeeded", 60, "and all is well")
    listed = json.loads(fleet.cli("rollouts", "ls", "-o", "json").stdout)
    newest = listed["items"][0] if isinstance(listed, dict) else listed[0]
    assert (newest["name"], newest["reason"]) == ("third-back-1", "UpdateRunSucceeded")
