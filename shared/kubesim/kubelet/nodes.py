"""The nodes of a simulated cluster: made from pools, added, removed, cordoned, lost and found again.

A pool is `{name, count, labels, taints, allocatable}`; its nodes are `<pool>-<i>`. With `maxNodes` it may
grow (see `autoscaler`): nodes beyond `count` come when they are needed, and are kept. Starting again on
kept objects is idempotent: a changed pool changes its nodes, a smaller one loses some; nodes that were
added by hand are left alone, and so are labels that were set by hand while the pool stayed the same.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from shared import quantity
from shared.clock import Clock
from shared.errors import Rejected
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.objects import Event, ObjectStore
from shared.labels import NODE_POOL, NODE_POOL_MAX

POOL = "sim.roadstead.dev/pool"
_POOL_HASH = "sim.roadstead.dev/pool-hash"
KUBELET_VERSION = "v1.36.3"
_MOST_PODS = "110"
UNREACHABLE = "node.kubernetes.io/unreachable"
_NODE = "nodes"
_HEALTH = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_ACTIONS = ("add", "remove", "cordon", "uncordon", "lose", "find")


class Nodes:
    """Makes and changes Node objects, and knows which of them answer."""

    def __init__(
        self,
        store: ObjectStore,
        clock: Clock,
        agenda: Agenda,
        pools: Iterable[Mapping[str, Any]],
    ) -> None:
        self._store = store
        self._new: WorkList[str] = WorkList(agenda)
        self._clock = clock
        self._pools = [dict(pool) for pool in pools]
        self._answering: dict[str, bool] = {}
        self._addresses: dict[str, str] = {}

    def start(self) -> None:
        """Bring the nodes of the pools to what the pools say now."""
        wanted: set[str] = set()
        for pool in self._pools:
            digest = _digest(pool)
            count = int(pool.get("count", 1))
            for number in range(max(count, int(pool.get("maxNodes") or 0))):
                name = f"{pool['name']}-{number}"
                if number >= count and self._store.get(_NODE, "", name) is None:
                    continue  # an autoscaler may add it
                wanted.add(name)
                self._ensure(name, pool, digest)
        for node in self._store.list(_NODE):
            annotations = node["metadata"].get("annotations") or {}
            if POOL in annotations and node["metadata"]["name"] not in wanted:
                self.remove(node["metadata"]["name"])

    def see_node(self, event: Event) -> None:
        """Note whether a node answers; one that somebody else created comes up."""
        node = event.object
        name = node["metadata"]["name"]
        if event.type == "DELETED":
            self._answering.pop(name, None)
            return
        status = node.get("status") or {}
        ready = [c["status"] for c in status.get("conditions") or () if c["type"] == "Ready"]
        self._answering[name] = ready != ["Unknown"]
        if not ready:
            self._new.add(name)

    def run(self, now: float) -> None:
        """Let nodes that somebody else created come up."""
        self._new.each(self._come_up, now)

    def _come_up(self, name: str) -> None:
        node = self._store.get(_NODE, "", name)
        if node is not None and not (node.get("status") or {}).get("conditions"):
            self._write_status(node, {})

    def exists(self, name: str) -> bool:
        return name in self._answering

    def answers(self, name: str) -> bool:
        """Whether the node is there and its kubelet acts."""
        return self._answering.get(name, False)

    def address(self, name: str) -> str:
        """The node's internal address, the same for its life."""
        if name not in self._addresses:
            digest = hashlib.blake2s(name.encode(), digest_size=2).digest()
            self._addresses[name] = f"172.18.{digest[0]}.{1 + digest[1] % 254}"
        return self._addresses[name]

    # --- changes -----------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        *,
        allocatable: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Iterable[Mapping[str, Any]] = (),
        annotations: Mapping[str, str] | None = None,
    ) -> Object:
        """Add a node that is ready at once. Raises ApiError AlreadyExists or BadRequest."""
        resources = _resources(allocatable or {})
        spec: dict[str, Any] = {"providerID": f"sim://{name}"}
        if taints:
            spec["taints"] = [dict(taint) for taint in taints]
        node: Object = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": self._labels(name, labels or {})},
            "spec": spec,
        }
        if annotations:
            node["metadata"]["annotations"] = dict(annotations)
        node["status"] = self._status(name, resources)
        made = self._store.create(_NODE, node)
        return self._write_status(made, resources) if "status" not in made else made

    def count_of(self, pool: str) -> int:
        """How many nodes of a pool there are."""
        return sum(
            (node["metadata"].get("annotations") or {}).get(POOL) == pool
            for node in self._store.list(_NODE)
        )

    def template(self, pool: Mapping[str, Any]) -> Object:
        """What a new node of a pool would be."""
        name = f"{pool['name']}-new"
        return {
            "metadata": {"name": name, "labels": self._labels(name, _pool_labels(pool))},
            "spec": {"taints": list(pool.get("taints") or ())},
            "status": self._status(name, _resources(pool.get("allocatable") or {})),
        }

    def grow(self, pool: Mapping[str, Any]) -> Object:
        """Add the next node of a pool."""
        number = 0
        while self._store.get(_NODE, "", f"{pool['name']}-{number}") is not None:
            number += 1
        return self.add(
            f"{pool['name']}-{number}",
            allocatable=pool.get("allocatable"),
            labels=_pool_labels(pool),
            taints=pool.get("taints") or (),
            annotations={POOL: str(pool["name"]), _POOL_HASH: _digest(pool)},
        )

    def remove(self, name: str) -> None:
        """Remove a node with all that runs there. Raises ApiError NotFound."""
        self._store.delete(_NODE, "", name)

    def cordon(self, name: str, *, on: bool = True) -> Object:
        """Keep new pods off a node, or let them on again. Raises ApiError NotFound."""
        node = self._live(name)
        spec = {**node["spec"], "unschedulable": True}
        if not on:
            del spec["unschedulable"]
        return self._store.update(_NODE, {**node, "spec": spec})

    def lose(self, name: str) -> Object:
        """The node stops answering: Ready becomes Unknown, its pods stay as they were last seen.

        A real control plane marks such pods for deletion after five minutes; here they stay.
        """
        node = self._live(name)
        taints = [t for t in node["spec"].get("taints") or () if t.get("key") != UNREACHABLE]
        taints += [{"key": UNREACHABLE, "effect": e} for e in ("NoSchedule", "NoExecute")]
        status = dict(node.get("status") or {})
        status["conditions"] = self._conditions(answers=False)
        return self._store.update(
            _NODE,
            {**node, "spec": {**node["spec"], "taints": taints}, "status": status},
            subresource="*",
        )

    def find(self, name: str) -> Object:
        """A lost node answers again."""
        node = self._live(name)
        spec = dict(node["spec"])
        spec["taints"] = [t for t in spec.get("taints") or () if t.get("key") != UNREACHABLE]
        if not spec["taints"]:
            del spec["taints"]
        status = dict(node.get("status") or {})
        status["conditions"] = self._conditions(answers=True)
        return self._store.update(_NODE, {**node, "spec": spec, "status": status}, subresource="*")

    def request(self, action: str, body: Mapping[str, Any]) -> Object | None:
        """One request of the simulator's private endpoint: `action` on the node `body["name"]`.

        Actions: add (with allocatable, labels, taints), remove, cordon, uncordon, lose, find.
        Returns the node, None after remove. Raises ApiError.
        """
        name = body.get("name")
        if not isinstance(name, str) or not name:
            raise errors.bad_request('the body must be {"name": …}')
        match action:
            case "add":
                known = {k: body[k] for k in ("allocatable", "labels", "taints") if body.get(k)}
                return self.add(name, **known)
            case "remove":
                self.remove(name)
                return None
            case "cordon" | "uncordon":
                return self.cordon(name, on=action == "cordon")
            case "lose":
                return self.lose(name)
            case "find":
                return self.find(name)
            case _:
                raise errors.bad_request(
                    f"unknown action {action!r}: one of {', '.join(_ACTIONS)}"
                )

    # --- inside ------------------------------------------------------------------------------------

    def _live(self, name: str) -> Object:
        node = self._store.get(_NODE, "", name)
        if node is None:
            raise errors.not_found(_NODE, "", name)
        return node

    def _ensure(self, name: str, pool: Mapping[str, Any], digest: str) -> None:
        annotations = {POOL: str(pool["name"]), _POOL_HASH: digest}
        resources = _resources(pool.get("allocatable") or {})
        labels = self._labels(name, _pool_labels(pool))
        node = self._store.get(_NODE, "", name)
        if node is None:
            self.add(
                name,
                allocatable=resources,
                labels=labels,
                taints=pool.get("taints") or (),
                annotations=annotations,
            )
            return
        present = node["metadata"].get("annotations") or {}
        if present.get(_POOL_HASH) == digest:
            return
        spec = {**node["spec"], "taints": [dict(t) for t in pool.get("taints") or ()]}
        if not spec["taints"]:
            del spec["taints"]
        changed = metadata.with_metadata(
            node, labels=labels, annotations={**present, **annotations}
        )
        status = self._status(name, resources)
        self._store.update(_NODE, {**changed, "spec": spec, "status": status}, subresource="*")

    def _labels(self, name: str, given: Mapping[str, Any]) -> dict[str, str]:
        own = {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
        }
        return {**own, **{key: str(value) for key, value in given.items()}}

    def _write_status(self, node: Object, resources: Mapping[str, str]) -> Object:
        present = node.get("status") or {}
        given = resources or present.get("allocatable") or present.get("capacity") or {}
        status = self._status(node["metadata"]["name"], _resources(given))
        return self._store.update(_NODE, {**node, "status": status}, subresource="status")

    def _status(self, name: str, resources: Mapping[str, str]) -> dict[str, Any]:
        return {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": self._conditions(answers=True),
            "addresses": [
                {"type": "InternalIP", "address": self.address(name)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kernelVersion": "6.12.0",
                "kubeProxyVersion": KUBELET_VERSION,
                "kubeletVersion": KUBELET_VERSION,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "Simulated Linux",
                "systemUUID": "",
            },
        }

    def _conditions(self, *, answers: bool) -> list[dict[str, Any]]:
        stamp = metadata.stamp(self._clock.now())
        rows = [(kind, "False", reason, text) for kind, reason, text in _HEALTH]
        rows.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
        if not answers:
            lost = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
            rows = [(row[0], *lost) for row in rows]
        return [
            {
                "type": kind,
                "status": value,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": stamp,
                "lastTransitionTime": stamp,
            }
            for kind, value, reason, message in rows
        ]


def _digest(pool: Mapping[str, Any]) -> str:
    text = json.dumps(pool, sort_keys=True, default=str)
    return hashlib.blake2s(text.encode(), digest_size=8).hexdigest()


def _pool_labels(pool: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a pool's nodes; those of one that may grow say so."""
    labels = dict(pool.get("labels") or {})
    if pool.get("maxNodes"):
        labels |= {NODE_POOL: str(pool["name"]), NODE_POOL_MAX: str(pool["maxNodes"])}
    return labels


def _resources(given: Mapping[str, Any]) -> dict[str, str]:
    """Resource amounts as texts, checked, with the usual number of pods."""
    resources = {str(name): str(amount) for name, amount in given.items()}
    resources.setdefault("pods", _MOST_PODS)
    try:
        for name, amount in resources.items():
            quantity.parse(name, amount)
    except Rejected as refusal:
        raise errors.bad_request(f"allocatable: {refusal.detail}") from refusal
    return resources
