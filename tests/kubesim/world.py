"""A simulated cluster without API server, on a clock that tests move by hand."""

import itertools
from typing import Any

from shared.clock import ManualClock
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.behaviours import attach
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.store.garbage_collector import GarbageCollector
from shared.kubesim.store.objects import Event, ObjectStore

NAMESPACE = "default"
_STEP_S = 0.1
_KUEUE = (("localqueues", "LocalQueue", True), ("clusterqueues", "ClusterQueue", False))
Object = dict[str, Any]


class World:
    """Store, behaviours and clock; `advance` lets time pass and everything happen that is due."""

    def __init__(self, pools=(), *, store=None, clock=None, **options):
        self.clock = clock or ManualClock()
        self.store = store or ObjectStore(
            _registry(), self.clock, strategies=built_in_strategies()
        )
        self.pools, self.options = list(pools), options
        self.garbage = GarbageCollector(self.store)
        self.seen: list[Event] = []
        self.store.subscribe(self.seen.append)
        self.behaviours = attach(self.store, self.clock, self.pools, options)
        self.behaviours.follow()
        self.settle()

    def settle(self):
        """Run passes until nothing changes any more."""
        for _ in range(1000):
            before = self.store.rv
            self.behaviours.run_pass()
            self._collect()
            if self.store.rv == before:
                return
        raise AssertionError("the cluster never comes to rest")

    def advance(self, seconds):
        """Let `seconds` pass in small steps."""
        for _ in range(round(seconds / _STEP_S)):
            self.clock.advance(_STEP_S)
            self.settle()

    def restarted(self):
        """The same objects under a simulator that was started anew."""
        kept = [
            (key, obj) for key in self.store.resource_keys() for obj in self.store.iterate(key)
        ]
        store = ObjectStore(_registry(), self.clock, strategies=built_in_strategies())
        store.restore(kept, self.store.rv)
        return World(self.pools, store=store, clock=self.clock, **self.options)

    def create(self, key, obj):
        made = self.store.create(key, obj)
        self.settle()
        return made

    def delete(self, key, name, **how):
        self.store.delete(key, NAMESPACE, name, **how)
        self.settle()

    def patch_spec(self, key, name, **fields):
        """Change fields of an object's spec; None removes one."""
        live = self.get(key, name)
        spec = {k: v for k, v in {**live["spec"], **fields}.items() if v is not None}
        self.store.update(key, {**live, "spec": spec})
        self.settle()

    def get(self, key, name):
        namespace = NAMESPACE if self.store.registry.get(key).namespaced else ""
        found = self.store.get(key, namespace, name)
        assert found is not None, f"no {key} {name}"
        return found

    def job(self, name="job"):
        return self.get("jobs.batch", name)

    def status(self, name="job"):
        return self.job(name).get("status", {})

    def conditions(self, name="job"):
        return {c["type"]: (c["status"], c["reason"]) for c in conditions_of(self.job(name))}

    def pods(self, phase=None):
        return [p for p in self.store.list("pods") if phase is None or phase_of(p) == phase]

    def reasons(self, name):
        """The reasons of the Events about an object, in order."""
        return [
            e["reason"] for e in self.store.list("events") if e["involvedObject"]["name"] == name
        ]

    def writes(self, key):
        return sum(event.resource_key == key for event in self.seen)

    def _collect(self):
        while self.garbage._queue:
            reference = self.garbage._queue.popleft()
            self.garbage._queued.discard(reference)
            self.garbage.collect(reference)


def conditions_of(obj):
    return obj.get("status", {}).get("conditions", [])


def phase_of(pod):
    return pod.get("status", {}).get("phase", "Pending")


def a_pool(name="cpu", count=3, labels=None, taints=None, **allocatable):
    pool = {
        "name": name,
        "count": count,
        "allocatable": allocatable or {"cpu": "8", "memory": "32Gi"},
    }
    return {
        **pool,
        **({"labels": labels} if labels else {}),
        **({"taints": taints} if taints else {}),
    }


def a_job(
    name="job",
    *,
    run_seconds="3",
    exit_code=None,
    requests=None,
    restart_policy="Never",
    pod=None,
    annotations=None,
    labels=None,
    **spec,
):
    template_annotations = {"sim.roadstead.dev/run-seconds": run_seconds}
    if exit_code is not None:
        template_annotations["sim.roadstead.dev/exit-code"] = str(exit_code)
    container: dict[str, Any] = {"name": "main", "image": "busybox:1.36"}
    if requests:
        container["resources"] = {"requests": requests}
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    if annotations:
        meta["annotations"] = annotations
    if labels:
        meta["labels"] = labels
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            **spec,
            "template": {
                "metadata": {"annotations": template_annotations},
                "spec": {
                    "restartPolicy": restart_policy,
                    "containers": [container],
                    **(pod or {}),
                },
            },
        },
    }


_names = itertools.count(1)


def a_pod(name=None, *, requests=None, image="busybox:1.36", annotations=None, **spec):
    container = {"name": "main", "image": image}
    if requests:
        container["resources"] = {"requests": requests, "limits": requests}
    meta = {"name": name or f"pod-{next(_names)}", "namespace": NAMESPACE}
    if annotations:
        meta["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], "restartPolicy": "Always", **spec},
    }


def _registry():
    registry = built_in_registry()
    rows = [*_KUEUE, ("resourceflavors", "ResourceFlavor", False)]
    for plural, kind, namespaced in rows:
        registry.add(
            [
                Resource(
                    group="kueue.x-k8s.io",
                    version="v1beta1",
                    plural=plural,
                    kind=kind,
                    singular=kind.lower(),
                    namespaced=namespaced,
                    has_status=plural != "resourceflavors",
                    has_generation=True,
                    custom=True,
                )
            ]
        )
    return registry
