"""Evictions, disruption budgets and drains as kubectl has them: the hub cluster's API, real agents, members.

hub cluster: placement, budget, eviction ──► hub ──► m1 … m3, what is evicted leaves, the rest stays
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
MEMBERS = ("m1", "m2", "m3")
GROUP = "placement.kubernetes-fleet.io"
PLACEMENTS = f"/apis/{GROUP}/v1beta1"
ALL: Mapping[str, Any] = {"placementType": "PickAll"}
THREE: Mapping[str, Any] = {"placementType": "PickN", "numberOfClusters": 3}
CLUSTER = "cluster.kubernetes-fleet.io"
TAINT = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Three members, for all tests of this module."""
    folder = tmp_path_factory.mktemp("evictions")
    with running_fleet(folder, equal_members(3), packed=True) as running:
        yield running


def applied(fleet: RunningFleet, *documents: Mapping[str, Any]) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    assert done.returncode == 0, done.stderr


def tainted(fleet: RunningFleet, member: str, *taints: Mapping[str, str]) -> None:
    document = a({"spec": {"taints": [*taints]}}, "MemberCluster", member, version=f"{CLUSTER}/v1")
    done = fleet.cli("apply", "-f", "-", stdin=yaml.safe_dump(document))
    assert done.returncode == 0, done.stderr


class Placed:
    """A namespace with a ConfigMap of its own, placed everywhere and available."""

    def __init__(self, fleet: RunningFleet, name: str, policy: Mapping[str, Any]) -> None:
        self.fleet, self.name = fleet, name
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
        applied(
            fleet,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            a(
                {"data": {"a": "b"}}, "ConfigMap", "c", namespace=name, version="v1"
            ),
            a(
                {"spec": {"resourceSelectors": [selector], "policy": dict(policy)}},
                "ClusterResourcePlacement", name, version=f"{GROUP}/v1",
            ),
        )  # fmt: skip
        until(lambda: self.where() == set(MEMBERS), 60, f"{name} is everywhere")
        until(lambda: self.is_available(3), 30, f"{name} is available")

    def where(self) -> set[str]:
        """Members that have it."""
        return {member for member in MEMBERS if self.uid(member)}

    def uid(self, member: str) -> str:
        """Of its ConfigMap in a member: another one says that it was made anew."""
        found = self.fleet.read(f"/api/v1/namespaces/{self.name}/configmaps/c", member)
        return str(found["metadata"]["uid"]) if found else ""

    def is_available(self, count: int) -> bool:
        status = (
            self.fleet.read(f"{PLACEMENTS}/clusterresourceplacements/{self.name}").get("status")
            or {}
        )
        ready = [
            each
            for each in status.get("placementStatuses") or ()
            if any(c["type"] == "Available" and c["status"] == "True" for c in each["conditions"])
        ]
        return len(ready) == count

    def budget(self, **spec: Any) -> None:
        applied(
            self.fleet,
            a({"spec": spec}, "ClusterResourcePlacementDisruptionBudget", self.name),
        )
        until(
            lambda: self.preview(MEMBERS[0]).count("specified ClusterResource"), 30, "it is taken"
        )

    def preview(self, member: str) -> str:
        return self.fleet.cli("placements", "evict", self.name, member, "--dry-run").stdout

    def evict(self, member: str) -> dict[str, Any]:
        """Its conditions, once it has been judged."""
        name = f"{self.name}-{member}"
        spec = {"placementName": self.name, "clusterName": member}
        applied(self.fleet, a({"spec": spec}, "ClusterResourcePlacementEviction", name))

        def told() -> Any:
            made = self.fleet.read(f"{PLACEMENTS}/clusterresourceplacementevictions/{name}")
            return (made.get("status") or {}).get("conditions")

        return {each["type"]: each for each in until(told, 30, f"{name} is judged")}

    def remove(self) -> None:
        self.fleet.kubectl("delete", "crp,crpdb", self.name, "--ignore-not-found", "--wait=false")
        self.fleet.kubectl("delete", "crpe", "--all", "--wait=false")


def a(
    content: Mapping[str, Any],
    kind: str,
    name: str,
    *,
    namespace: str = "",
    version: str = f"{GROUP}/v1beta1",
) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def test_what_is_tainted_first_is_not_picked_again(fleet: RunningFleet) -> None:
    """The objects leave it for good; the others keep theirs."""
    placed = Placed(fleet, "tainted", ALL)
    tainted(fleet, "m1", TAINT)
    try:
        told = placed.evict("m1")
        assert told["Valid"]["reason"] == "ClusterResourcePlacementEvictionValid"
        assert told["Executed"]["reason"] == "ClusterResourcePlacementEvictionExecuted"
        assert (
            "no ClusterResourcePlacementDisruptionBudget specified" in told["Executed"]["message"]
        )
        until(lambda: placed.where() == {"m2", "m3"}, 30, "it has left")
        until(lambda: placed.is_available(2), 30, "and the placement says so")
    finally:
        tainted(fleet, "m1")
        placed.remove()


def test_what_is_not_tainted_is_picked_again(fleet: RunningFleet) -> None:
    """The objects are taken away and made anew."""
    placed = Placed(fleet, "untainted", ALL)
    before = placed.uid("m2")
    assert placed.evict("m2")["Executed"]["status"] == "True"
    until(lambda: placed.uid("m2") not in ("", before), 40, "another one is there")
    until(lambda: placed.is_available(3), 30, "and available")
    shown = fleet.kubectl("get", "crpe", "-o", "wide").stdout
    assert "PLACEMENT" in shown
    assert "untainted" in shown
    placed.remove()


@pytest.mark.parametrize(
    ("name", "policy", "budget", "allowed"),
    [
        ("all-min-deny", ALL, {"minAvailable": 3}, False),
        ("n-max-percent-allow", THREE, {"maxUnavailable": "10%"}, True),
    ],
)
def test_a_disruption_budget_decides(
    fleet: RunningFleet, name: str, policy: Any, budget: Any, allowed: bool
) -> None:
    """With the numbers by which it does; what is denied stays as it is, the same object.

    The arithmetic of every budget stands in tests/domain/rollout/test_disruption.py.
    """
    placed = Placed(fleet, name, policy)
    placed.budget(**budget)
    before = placed.uid("m3")
    told = placed.evict("m3")["Executed"]
    verb = "allowed" if allowed else "blocked"
    kind = "ClusterResourcePlacementDisruptionBudget"
    assert (
        f"Eviction is {verb} by specified {kind}, availablePlacements: 3, totalPlacements: 3"
        in (told["message"])
    )
    assert told["status"] == str(allowed)
    if allowed:
        until(lambda: placed.uid("m3") not in ("", before), 40, "it left and was picked again")
    else:
        assert placed.uid("m3") == before
    placed.remove()


def test_a_namespace_has_evictions_and_budgets_of_its_own(fleet: RunningFleet) -> None:
    """Of its ResourcePlacement, beside it; they are shown by kubectl like the others."""
    name = "tenant"
    spaced = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
    inside = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}
    applied(
        fleet,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        a({"data": {"a": "b"}}, "ConfigMap", "c", namespace=name, version="v1"),
        a(
            {"spec": {"resourceSelectors": [{**spaced, "selectionScope": "NamespaceOnly"}]}},
            "ClusterResourcePlacement",
            name,
        ),
        a({"spec": {"resourceSelectors": [inside]}}, "ResourcePlacement", "c", namespace=name),
        a({"spec": {"minAvailable": 3}}, "ResourcePlacementDisruptionBudget", "c", namespace=name),
    )

    def preview() -> str:
        return fleet.cli("placements", "evict", f"{name}/c", "m1", "--dry-run").stdout

    until(lambda: "availablePlacements: 3" in preview(), 60, "it is everywhere and available")
    spec = {"placementName": "c", "clusterName": "m1"}
    applied(fleet, a({"spec": spec}, "ResourcePlacementEviction", "off", namespace=name))

    def told() -> str:
        return fleet.kubectl("get", "rpe", "off", "-n", name, "-o", "wide").stdout

    until(lambda: "by specified ResourcePlacementDisruptionBudget" in told(), 30, "it is blocked")
    assert "minAvailable is 3" in told()
    fleet.kubectl("delete", "rp", "c", "-n", name, "--wait=false")
    fleet.kubectl("delete", "crp", name, "--wait=false")


def drained(fleet: RunningFleet, member: str, *more: str) -> tuple[int, dict[str, Any]]:
    done = fleet.cli("clusters", "drain", member, "-o", "json", *more)
    return done.returncode, json.loads(done.stdout)


def test_a_drain_takes_everything_off_a_cluster(fleet: RunningFleet) -> None:
    """It is not picked again before it is uncordoned."""
    placed = Placed(fleet, "drained", ALL)
    code, told = drained(fleet, "m1")
    assert (code, told["blocked"]) == (0, 0)
    until(lambda: placed.where() == {"m2", "m3"}, 30, "it is empty")
    assert fleet.cli("clusters", "uncordon", "m1").returncode == 0
    until(lambda: placed.where() == set(MEMBERS), 30, "it is picked again")
    placed.remove()


def test_a_drain_that_budgets_block_says_so(fleet: RunningFleet) -> None:
    """Nothing leaves; by an exit code, and with the numbers."""
    placed = Placed(fleet, "kept", ALL)
    placed.budget(minAvailable=3)
    code, told = drained(fleet, "m1")
    assert (code, told["blocked"]) == (1, 1)
    assert "availablePlacements: 3" in told["placements"][0]["message"]
    assert placed.where() == set(MEMBERS)
    fleet.cli("clusters", "uncordon", "m1")
    placed.remove()


def test_a_drain_that_budgets_block_in_part_takes_the_rest(fleet: RunningFleet) -> None:
    """One placement leaves and the other stays."""
    stays, leaves = Placed(fleet, "stays", ALL), Placed(fleet, "leaves", ALL)
    stays.budget(minAvailable=3)
    code, told = drained(fleet, "m2")
    assert (code, told["blocked"]) == (1, 1)
    until(lambda: leaves.where() == {"m1", "m3"}, 30, "one has left")
    assert stays.where() == set(MEMBERS)
    fleet.cli("clusters", "uncordon", "m2")
    stays.remove()
    leaves.remove()
