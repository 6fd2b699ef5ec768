"""Runs objects of the scripted kinds: makes what they need, makes lost ones again, writes their status."""

from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.operators import services
from shared.kubesim.operators.definitions import KINDS
from shared.kubesim.operators.parts import JOBS, OperatorChild
from shared.kubesim.operators.scripts import SCRIPTS, Script
from shared.kubesim.recorder import Recorder
from shared.kubesim.store.objects import Event, ObjectStore
from shared.labels import MULTIKUEUE_CONTROLLER
from shared.pointers import value_at

_RETRY_S = 2.0
_NOT_MADE = "FailedCreate"
_SOURCE = "operator"
_MANAGERS = ("/spec/managedBy", "/spec/runPolicy/managedBy")
_PARENTS = frozenset({*(kind for _, _, kind, _ in KINDS), "StatefulSet"})


def _is_of_another(parent: Object) -> bool:
    """Whether managedBy names a controller of another cluster: operators leave such objects alone."""
    return any(value_at(parent, each) == MULTIKUEUE_CONTROLLER for each in _MANAGERS)


class Operators:
    """One operator for all kinds: what differs is their scripts."""

    def __init__(
        self, store: ObjectStore, clock: Clock, agenda: Agenda, recorder: Recorder
    ) -> None:
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._parents: WorkList[str] = WorkList(agenda)
        self._leaders: WorkList[str] = WorkList(agenda)

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_parent(self, event: Event) -> None:
        self._parents.add(event.object["metadata"]["uid"])

    def see_child(self, event: Event) -> None:
        """A pod, a Job or an object of another kind that an operator makes: its maker looks again."""
        owner = metadata.controller_of(event.object)
        if owner is not None and owner["kind"] in _PARENTS:
            self._parents.add(owner["uid"])
        if event.object["kind"] == "Pod" and (lws := self._lws_of(event.object)) is not None:
            self._parents.add(lws["metadata"]["uid"])
            if services.is_leader(event.object):
                self._leaders.add(event.object["metadata"]["uid"])

    def run(self, now: float) -> None:
        """Sync what changed."""
        self._parents.each(lambda uid: self._sync(uid, now), now)
        self._leaders.each(lambda uid: self._lead(uid, now), now)

    # --- one object --------------------------------------------------------------------------------

    def _sync(self, uid: str, now: float) -> None:
        place = self._store.by_uid(uid)
        if place is None or place[0] not in SCRIPTS:
            return
        key, script = place[0], SCRIPTS[place[0]]
        parent = self._store.get(*place)
        if parent is None or "deletionTimestamp" in parent["metadata"]:
            return  # the collector takes away what it has
        if _is_of_another(parent):
            return
        there = self._children_of(uid)
        if script.ended(parent):
            if (leaves := script.leaves) is not None:
                self._delete({k: v for k, v in there.items() if not leaves(v[0], k)})
            return
        if script.held(parent):
            self._delete(there)
        else:
            wanted = script.children(parent, {name: obj for name, (_, obj) in there.items()})
            for child in wanted:
                if child.manifest["metadata"]["name"] not in there:
                    self._make(parent, child, now)
            if script.scales:
                self._scale(there, {each.manifest["metadata"]["name"]: each for each in wanted})
        self._write(key, parent, script)

    def _scale(
        self, there: dict[str, tuple[str, Object]], wanted: dict[str, OperatorChild]
    ) -> None:
        self._delete({name: each for name, each in there.items() if name not in wanted})
        for name, (key, obj) in there.items():
            spec = wanted[name].manifest.get("spec") if name in wanted else None
            replicas = (spec or {}).get("replicas")
            if replicas is not None and obj["spec"].get("replicas") != replicas:
                self._store.update(key, {**obj, "spec": {**obj["spec"], "replicas": replicas}})

    def _lws_of(self, pod: Object) -> Object | None:
        """The LeaderWorkerSet whose group a pod is of, where there is one."""
        name = (pod["metadata"].get("labels") or {}).get(services.LWS_NAME)
        if not name or services.LEADER_WORKER_SETS not in self._store.registry:
            return None
        return self._store.get(services.LEADER_WORKER_SETS, pod["metadata"]["namespace"], name)

    def _lead(self, uid: str, now: float) -> None:
        """Make the workers of a leader, as long as its LeaderWorkerSet is there."""
        place = self._store.by_uid(uid)
        leader = self._store.get(*place) if place is not None else None
        lws = self._lws_of(leader) if leader is not None else None
        if leader is None or lws is None:
            return
        if any("deletionTimestamp" in each["metadata"] for each in (leader, lws)):
            return
        there = self._children_of(uid)
        for child in services.workers(lws, leader):
            if child.manifest["metadata"]["name"] not in there:
                self._make(leader, child, now)

    def _below(self, uid: str) -> dict[str, Object]:
        """All that an object has, by uid."""
        found: dict[str, Object] = {}
        for _, obj in self._children_of(uid).values():
            inner = obj["metadata"]["uid"]
            found |= {inner: obj, **self._below(inner)}
        return found

    def _write(self, key: str, parent: Object, script: Script) -> None:
        uid = parent["metadata"]["uid"]
        if script.looks_below:
            there = self._below(uid)
        else:
            there = {name: obj for name, (_, obj) in self._children_of(uid).items()}
        live = self._store.get(key, *metadata.identity(parent))
        if live is None:
            return
        status = script.status(live, there, metadata.stamp(self._clock.now()))
        if status != live.get("status"):
            self._store.update(key, {**live, "status": status}, subresource="status", trusted=True)

    def _children_of(self, uid: str) -> dict[str, tuple[str, Object]]:
        found = {}
        for place in self._store.dependents(uid):
            obj = self._store.get(*place)
            owner = metadata.controller_of(obj) if obj is not None else None
            if obj is not None and owner is not None and owner["uid"] == uid:
                found[obj["metadata"]["name"]] = (place[0], obj)
        return found

    def _make(self, parent: Object, child: OperatorChild, now: float) -> None:
        owner = {
            "apiVersion": parent["apiVersion"],
            "kind": parent["kind"],
            "name": parent["metadata"]["name"],
            "uid": parent["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        made = metadata.with_metadata(
            child.manifest, namespace=parent["metadata"]["namespace"], ownerReferences=[owner]
        )
        why = ""
        if child.key in self._store.registry:
            try:
                self._store.create(child.key, made)
                return
            except ApiError as fault:
                # A name that is another's may not be free yet.
                why = "" if fault.reason == "AlreadyExists" else fault.message
        else:
            why = f"this cluster does not serve {child.key}"
        if why:
            what = f"{child.manifest['kind']} {child.manifest['metadata']['name']}"
            self._recorder.warning(parent, _NOT_MADE, f"Error creating {what}: {why}", _SOURCE)
        again = self._leaders if parent["kind"] == "Pod" else self._parents
        again.add_at(parent["metadata"]["uid"], now + _RETRY_S)

    def _delete(self, children: dict[str, tuple[str, Object]]) -> None:
        for key, obj in children.values():
            if "deletionTimestamp" not in obj["metadata"]:
                propagation = "Foreground" if key == JOBS or key in SCRIPTS else "Background"
                self._store.delete(key, *metadata.identity(obj), propagation=propagation)
