"""KubeFleet's acceptance scenarios as kubectl would play them: one fleet, many placements.

    with acceptance(folder, members) as it:
        it.apply(...)
        it.holds("ConfigMap", "settings", "shop", ["m1", "m2"])

Everything goes through the API of the hub cluster, save what members are declared to be: they came by
REST. What became of it is looked up in the members.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from shared.kube import errors
from shared.kube.client import KubeClient
from tests.e2e.running import RunningFleet, a_pool, running_fleet, until

T = TypeVar("T")
Json = dict[str, Any]
FLEET = "placement.kubernetes-fleet.io/v1beta1"
MEMBER = "cluster.kubernetes-fleet.io/v1beta1"
KUBECTL = "kubectl-client-side-apply"
CPU = "resources.kubernetes-fleet.io/available-cpu"
NODES = "kubernetes-fleet.io/node-count"
COST = "kubernetes.azure.com/per-cpu-core-cost"
MEMBERS = ("m1", "m2", "m3", "m4")
LABELS: dict[str, Json] = {
    "m1": {"zone": "a", "tier": "x"},
    "m2": {"zone": "a", "tier": "y"},
    "m3": {"zone": "b", "tier": "x"},
    "m4": {"zone": "b", "tier": "y"},
}
WITHIN_S = 60.0  # of real agents on a machine that is busy


class Acceptance:
    """The hub cluster, and the members, by their Kubernetes APIs alone."""

    def __init__(self, fleet: RunningFleet, runner: asyncio.Runner, names: Sequence[str]) -> None:
        self.fleet, self._runner, self.names = fleet, runner, tuple(names)
        configs = {name: fleet.kubeconfig(name) for name in ("hub", *names)}
        self._kube = {name: self._run(KubeClient.connect(at)) for name, at in configs.items()}
        self.until(self._has_kinds, "the hub has installed its kinds")

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(what)

    def _has_kinds(self) -> bool:
        with contextlib.suppress(errors.KindNotServed):
            self._run(self._kube["hub"].list(FLEET, "ClusterResourcePlacement"))
            return True
        return False

    def close(self) -> None:
        for client in self._kube.values():
            self._run(client.close())

    def apply(self, *given: str | Json, cluster: str = "hub") -> None:
        """Create or change each document."""
        for text in given:
            documents = yaml.safe_load_all(text) if isinstance(text, str) else [text]
            for one in filter(None, documents):
                self._run(self._kube[cluster].apply(one, field_manager=KUBECTL, force=True))

    def refused(self, given: Json) -> str:
        """What the API server says against it; fails where it is taken."""
        try:
            self._run(self._kube["hub"].create(given, field_manager=KUBECTL))
        except (errors.Invalid, errors.Forbidden) as refusal:
            return str(refusal)
        raise AssertionError(f"{given['kind']} {given['metadata']['name']} was taken")

    def delete(self, version: str, kind: str, name: str, namespace: str = "") -> None:
        self._run(self._kube["hub"].delete(version, kind, namespace, name))

    def declare(self, *members: Json) -> None:
        """Members as their fleet's administrator declares them: by REST, by which they came."""
        with self.fleet.client() as hub:
            hub.apply("\n---\n".join(map(json.dumps, members)).encode())

    def edit(self, cluster: str, given: Json, change: Json, *, status: bool = False) -> None:
        """A merge patch of an object in one cluster."""
        metadata = given["metadata"]
        where = (metadata.get("namespace", ""), metadata["name"])
        self._run(
            self._kube[cluster].merge_patch(
                *(given["apiVersion"], given["kind"], *where, change),
                field_manager="somebody",
                subresource="status" if status else None,
            )
        )

    def get(self, cluster: str, version: str, kind: str, name: str, namespace: str = "") -> Json:
        """An object; {} where it is not there."""
        with contextlib.suppress(errors.NotFound):
            return self._run(self._kube[cluster].get(version, kind, namespace, name))
        return {}

    def in_members(self, version: str, kind: str, name: str, namespace: str = "") -> list[Json]:
        """It in each member, in their order."""
        return [self.get(each, version, kind, name, namespace) for each in self.names]

    def holders(self, name: str, namespace: str) -> list[str]:
        """Members that hold a ConfigMap."""
        found = self.in_members("v1", "ConfigMap", name, namespace)
        return [member for member, held in zip(self.names, found, strict=True) if held]

    def held_by(self, name: str, namespace: str, expected: Sequence[str]) -> None:
        """Wait until these members and no others hold a ConfigMap."""
        what = f"{namespace}/{name} is held by {list(expected)}"
        self.until(lambda: self.holders(name, namespace) == list(expected), what)

    def until(self, holds: Callable[[], T], what: str, within_s: float = WITHIN_S) -> T:
        return until(holds, within_s, what)

    def status(self, name: str, namespace: str = "") -> Json:
        """Of a placement: a ResourcePlacement where there is a namespace."""
        found = self.get("hub", FLEET, kind_of(namespace), name, namespace)
        return dict(found.get("status") or {})

    def rungs(self, name: str, namespace: str = "") -> dict[str, tuple[str, str]]:
        """Conditions of a placement that are of its newest generation: status and reason."""
        found = self.get("hub", FLEET, kind_of(namespace), name, namespace)
        generation = (found.get("metadata") or {}).get("generation")
        return {
            each["type"].removeprefix(kind_of(namespace)): (each["status"], each["reason"])
            for each in (found.get("status") or {}).get("conditions") or ()
            if each.get("observedGeneration") == generation
        }

    def rung(self, rung: str, name: str, namespace: str = "", *, said: str) -> None:
        """Wait until a condition has this status or reason."""
        try:
            self.until(
                lambda: said in self.rungs(name, namespace).get(rung, ()),
                f"{namespace}/{name}: {rung} is {said}",
            )
        except AssertionError as late:
            raise AssertionError(f"{late}; its status: {self.status(name, namespace)}") from late

    def entry(self, name: str, namespace: str, member: str) -> Json:
        """What a placement's status says of one member."""
        listed = self.status(name, namespace).get("placementStatuses") or ()
        return next((dict(each) for each in listed if each.get("clusterName") == member), {})

    def told(self, ask: Callable[[], Json], what: str, within_s: float = WITHIN_S) -> Any:
        """Wait until an answer says something of this; what it says."""
        return self.until(lambda: ask().get(what), f"{what} is told", within_s)

    def settled(self, name: str, namespace: str = "") -> None:
        """Wait until a placement has decided and carried out what it is now."""
        self.until(
            lambda: self.rungs(name, namespace).get("Available", ("",))[0] == "True",
            f"{name} is available",
        )


def kind_of(namespace: str) -> str:
    return "ResourcePlacement" if namespace else "ClusterResourcePlacement"


@contextlib.contextmanager
def acceptance(folder: Path, members: Sequence[Json] | None = None) -> Iterator[Acceptance]:
    """Four members of one, two, three and three nodes, with zones and tiers as labels."""
    listed = list(members or four_members())
    names = [each["name"] for each in listed]
    with running_fleet(folder, listed, packed=True) as fleet, asyncio.Runner() as runner:
        it = Acceptance(fleet, runner, names)
        try:
            it.declare(*map(a_member, names))
            yield it
        finally:
            it.close()


def four_members() -> list[Json]:
    return [
        {"name": name, "pools": [a_pool(nodes, cpu=str(cores), memory="64Gi")]}
        for name, nodes, cores in (("m1", 1, 4), ("m2", 2, 4), ("m3", 3, 4), ("m4", 3, 8))
    ]


def a_member(name: str, *taints: Json, **labels: str) -> Json:
    """A MemberCluster as it is declared from now on."""
    return {
        "apiVersion": MEMBER,
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": {**LABELS.get(name, {}), **labels}},
        "spec": {"taints": list(taints)},
    }


def a_placement(
    name: str,
    namespace: str = "",
    selectors: Sequence[Json] = (),
    *,
    strategy: Json | None = None,
    **policy: Any,
) -> Json:
    """Of the Namespace of its name, or of the ConfigMap of its name.

    `required` and `preferred` are lists of terms.
    """
    affinity: Json = {}
    if (required := policy.pop("required", None)) is not None:
        terms = {"clusterSelectorTerms": required}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    if preferred := policy.pop("preferred", None):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    if affinity:
        policy["affinity"] = {"clusterAffinity": affinity}
    kind = "ConfigMap" if namespace else "Namespace"
    usual = [{"group": "", "version": "v1", "kind": kind, "name": name}]
    spec: Json = {"resourceSelectors": list(selectors) or usual}
    if policy:
        spec["policy"] = policy
    if strategy:
        spec["strategy"] = strategy
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": FLEET, "kind": kind_of(namespace), "metadata": metadata, "spec": spec}


def a_namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def a_map(name: str, namespace: str, *, labels: Json | None = None, **data: str) -> Json:
    """A ConfigMap."""
    metadata: Json = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"a": "1"}
    }  # fmt: skip


def labelled(**labels: str) -> Json:
    """A term of labels."""
    return {"labelSelector": {"matchLabels": labels}}


def having(name: str, operator: str, value: str) -> Json:
    """A term of one property."""
    wanted = {"name": name, "operator": operator, "values": [value]}
    return {"propertySelector": {"matchExpressions": [wanted]}}


def sorted_by(name: str, weight: int, order: str = "Descending", **labels: str) -> Json:
    """A preference by a property, of clusters with these labels."""
    preference = {"propertySorter": {"name": name, "sortOrder": order}}
    return {"weight": weight, "preference": preference | (labelled(**labels) if labels else {})}


def n(count: int, **more: Any) -> Json:
    """The policy of the best `count`."""
    return {"placementType": "PickN", "numberOfClusters": count, **more}


def fixed(*names: str) -> Json:
    return {"placementType": "PickFixed", "clusterNames": list(names)}
