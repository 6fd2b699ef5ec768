"""Deployments, ReplicaSets and Service addresses of a simulated cluster.

A Deployment keeps one ReplicaSet per version of its template and rolls from old to new within
maxSurge and maxUnavailable; a ReplicaSet keeps its number of pods. StatefulSets and DaemonSets are
stored but not acted on, and their status stays empty: it claims nothing. Statuses and reasons are those
of Kubernetes' deployment and replicaset controllers.
"""

import hashlib
import json
from typing import Any

from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.metadata import derived_suffix
from shared.kubesim.apimachinery.pods import TERMINAL
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.deployments import rollout
from shared.kubesim.deployments.rollout import HASH_LABEL, REVISION
from shared.kubesim.recorder import Recorder
from shared.kubesim.store.objects import Event, ObjectStore

DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"
SERVICES = "services"
_DEPLOYMENT_SOURCE = "deployment-controller"
_REPLICA_SET_SOURCE = "replicaset-controller"
_MOST_PODS_PER_SYNC = 500
_RETRY_S = 2.0


class Workloads:
    """Syncs Deployments and ReplicaSets, and gives Services their addresses."""

    def __init__(
        self, store: ObjectStore, clock: Clock, agenda: Agenda, recorder: Recorder
    ) -> None:
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._deployments: WorkList[str] = WorkList(agenda, self._report)
        self._replica_sets: WorkList[str] = WorkList(agenda, self._report)
        self._services: WorkList[str] = WorkList(agenda)
        self._addresses: dict[str, str] = {}  # cluster IP -> Service uid
        self._made: dict[str, int] = {}  # ReplicaSet uid -> how many pods were made for it
        self._had: dict[str, int] = {}  # ReplicaSet uid -> how many pods it had, stopping ones too

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_deployment(self, event: Event) -> None:
        self._deployments.add(event.object["metadata"]["uid"])

    def see_replica_set(self, event: Event) -> None:
        self._replica_sets.add(event.object["metadata"]["uid"])
        self._add_owner(event.object, "Deployment", self._deployments)

    def see_pod(self, event: Event) -> None:
        self._add_owner(event.object, "ReplicaSet", self._replica_sets)

    def see_service(self, event: Event) -> None:
        service = event.object
        uid = service["metadata"]["uid"]
        address = service["spec"].get("clusterIP")
        if event.type == "DELETED":
            if self._addresses.get(address) == uid:
                del self._addresses[address]
        elif address and address != "None":
            self._addresses.setdefault(address, uid)
        elif not address and service["spec"].get("type") != "ExternalName":
            self._services.add(uid)

    def run(self, now: float) -> None:
        """Sync what changed: ReplicaSets after the Deployments that drive them."""
        self._services.each(self._give_address, now)
        self._deployments.each(self._sync_deployment, now)
        self._replica_sets.each(self._sync_replica_set, now)

    # --- replica sets ------------------------------------------------------------------------------

    def _sync_replica_set(self, uid: str) -> None:
        replica_set = self._live(uid, REPLICA_SETS)
        if replica_set is None:
            self._made.pop(uid, None)
            self._had.pop(uid, None)
            return
        pods = self._pods_of(uid)
        if self._had.get(uid) != len(pods):
            self._had[uid] = len(pods)
            self._add_owner(replica_set, "Deployment", self._deployments)
        active = [pod for pod in pods if _is_active(pod)]
        wanted = _given(replica_set["spec"].get("replicas"), 1)
        if "deletionTimestamp" not in replica_set["metadata"]:
            active = self._match(replica_set, active, wanted)
        stopping = sum(not _has_ended(pod) and not _is_active(pod) for pod in pods)
        status = rollout.replica_set_status(replica_set, active, stopping)
        live = self._live(uid, REPLICA_SETS)
        if live is not None and live.get("status") != status:
            self._write_status(REPLICA_SETS, live, status)

    def _match(self, owner: Object, active: list[Object], wanted: int) -> list[Object]:
        """Create what is missing, delete what is too much (youngest and not ready first)."""
        missing = min(wanted - len(active), _MOST_PODS_PER_SYNC)
        for _ in range(missing):
            try:
                active = [*active, self._create_pod(owner)]
            except ApiError as refusal:
                message = f"Error creating: {refusal.message}"
                self._recorder.warning(owner, "FailedCreate", message, _REPLICA_SET_SOURCE)
                when = self._clock.now().timestamp() + _RETRY_S
                self._replica_sets.add_at(owner["metadata"]["uid"], when)
                break
        if missing >= 0:
            return active
        ordered = sorted(active, key=rollout.removal_order)
        for pod in ordered[:-missing]:
            namespace, name = metadata.identity(pod)
            self._store.delete("pods", namespace, name)
            self._recorder.normal(
                owner, "SuccessfulDelete", f"Deleted pod: {name}", _REPLICA_SET_SOURCE
            )
        return ordered[-missing:]

    def _create_pod(self, owner: Object) -> Object:
        meta, template = owner["metadata"], owner["spec"]["template"]
        name = self._next_name(meta)
        made = {
            **(template.get("metadata") or {}),
            "generateName": f"{meta['name']}-",
            "name": name,
            "namespace": meta["namespace"],
            "ownerReferences": [_owner(owner)],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template["spec"]}
        created = self._store.create("pods", pod, trusted=True)
        self._recorder.normal(
            owner, "SuccessfulCreate", f"Created pod: {name}", _REPLICA_SET_SOURCE
        )
        return created

    def _next_name(self, meta: dict[str, Any]) -> str:
        uid, start = meta["uid"], meta["name"][:57]
        while True:
            self._made[uid] = self._made.get(uid, 0) + 1
            name = f"{start}-{derived_suffix(f'{uid}/{self._made[uid]}')}"
            if self._store.get("pods", meta["namespace"], name) is None:
                return name

    # --- deployments -------------------------------------------------------------------------------

    def _sync_deployment(self, uid: str) -> None:
        deployment = self._live(uid, DEPLOYMENTS)
        if deployment is None or "deletionTimestamp" in deployment["metadata"]:
            return
        owned = self._replica_sets_of(uid)
        current = _with_template(owned, deployment)
        old_pods_run = any(
            not _has_ended(pod)
            for one in owned
            if one is not current
            for pod in self._pods_of(one["metadata"]["uid"])
        )
        if current is None and not deployment["spec"].get("paused"):
            current = _new_replica_set(deployment, owned)
            owned.append(current)
        for replica_set, replicas in rollout.scaled(
            deployment, current, owned, old_pods_run=old_pods_run
        ):
            self._scale(deployment, replica_set, replicas)
        if current is not None and not self._exists(current):
            self._store.create(REPLICA_SETS, current, trusted=True)
        owned = self._replica_sets_of(uid)
        current = _with_template(owned, deployment)
        self._delete_history(deployment, current, owned)
        status = rollout.deployment_status(
            deployment, current, owned, metadata.stamp(self._clock.now())
        )
        annotations = dict(deployment["metadata"].get("annotations") or {})
        if current is not None:
            annotations[REVISION] = str(rollout.revision(current))
        if deployment.get("status") != status or REVISION not in annotations:
            marked = metadata.with_metadata(deployment, annotations=annotations)
            self._write_status(DEPLOYMENTS, marked, status)

    def _scale(self, deployment: Object, replica_set: Object, replicas: int) -> None:
        before = replica_set["spec"].get("replicas", 0)
        scaled = {**replica_set, "spec": {**replica_set["spec"], "replicas": replicas}}
        if self._exists(replica_set):
            self._store.update(REPLICA_SETS, scaled, trusted=True)
        else:
            self._store.create(REPLICA_SETS, scaled, trusted=True)
        way = "up" if replicas > before else "down"
        name = replica_set["metadata"]["name"]
        message = f"Scaled {way} replica set {name} from {before} to {replicas}"
        self._recorder.normal(deployment, "ScalingReplicaSet", message, _DEPLOYMENT_SOURCE)

    def _delete_history(
        self, deployment: Object, current: Object | None, owned: list[Object]
    ) -> None:
        kept = _given(deployment["spec"].get("revisionHistoryLimit"), 10)
        idle = [
            one
            for one in owned
            if one is not current
            and not one["spec"].get("replicas")
            and not (one.get("status") or {}).get("replicas")
        ]
        for old in sorted(idle, key=rollout.revision)[: max(0, len(idle) - kept)]:
            self._store.delete(REPLICA_SETS, *metadata.identity(old))

    # --- services ----------------------------------------------------------------------------------

    def _give_address(self, uid: str) -> None:
        """The next free address of 10.96.0.0/16, starting from one that the uid names."""
        service = self._live(uid, SERVICES)
        if service is None or service["spec"].get("clusterIP"):
            return
        start = int.from_bytes(hashlib.blake2s(uid.encode(), digest_size=2).digest(), "big")
        for step in range(2**16):
            high, low = divmod((start + step) % 2**16, 256)
            address = f"10.96.{high}.{low}"
            if low not in (0, 255) and address not in self._addresses:
                break
        spec = {**service["spec"], "clusterIP": address, "clusterIPs": [address]}
        self._store.update(SERVICES, {**service, "spec": spec}, trusted=True)

    # --- small things ------------------------------------------------------------------------------

    def _live(self, uid: str, key: str) -> Object | None:
        place = self._store.by_uid(uid)
        return self._store.get(*place) if place is not None and place[0] == key else None

    def _owned(self, uid: str, key: str) -> list[Object]:
        places = [place for place in self._store.dependents(uid) if place[0] == key]
        found = [self._store.get(*place) for place in places]
        return [obj for obj in found if obj is not None and _is_controlled(obj, uid)]

    def _exists(self, replica_set: Object) -> bool:
        return self._store.get(REPLICA_SETS, *metadata.identity(replica_set)) is not None

    def _pods_of(self, uid: str) -> list[Object]:
        return self._owned(uid, "pods")

    def _replica_sets_of(self, uid: str) -> list[Object]:
        return self._owned(uid, REPLICA_SETS)

    def _write_status(self, key: str, obj: Object, status: dict[str, Any]) -> None:
        self._store.update(key, {**obj, "status": status}, subresource="status", trusted=True)

    def _add_owner(self, obj: Object, kind: str, work: WorkList[str]) -> None:
        owner = metadata.controller_of(obj)
        if owner is not None and owner.get("kind") == kind:
            work.add(owner["uid"])

    def _report(self, uid: str, fault: Exception) -> None:
        place = self._store.by_uid(uid)
        obj = self._store.get(*place) if place is not None else None
        if obj is not None:
            message = f"It cannot be synced: {type(fault).__name__}: {fault}"
            self._recorder.warning(obj, "FailedSync", message, _DEPLOYMENT_SOURCE)


def template_hash(template: Object) -> str:
    """A short name for a version of a pod template, in the alphabet of generated names."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return derived_suffix(text) + derived_suffix(text + "/2")


def _new_replica_set(deployment: Object, owned: list[Object]) -> Object:
    """The ReplicaSet for the Deployment's present template, of no replicas yet."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    digest = template_hash(template)
    wanted = _given(spec.get("replicas"), 1)
    inner = dict(template.get("metadata") or {})
    inner["labels"] = {**(inner.get("labels") or {}), HASH_LABEL: digest}
    selector = dict(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}
    made: dict[str, Any] = {
        "replicas": 0,
        "selector": selector,
        "template": {**template, "metadata": inner},
    }
    if spec.get("minReadySeconds"):
        made["minReadySeconds"] = spec["minReadySeconds"]
    revision = max((rollout.revision(one) for one in owned), default=0) + 1
    surge, _ = rollout.allowances(deployment, wanted)
    annotations = {
        REVISION: str(revision),
        "deployment.kubernetes.io/desired-replicas": str(wanted),
        "deployment.kubernetes.io/max-replicas": str(wanted + surge),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": inner["labels"],
            "annotations": annotations,
            "ownerReferences": [_owner(deployment)],
        },
        "spec": made,
    }


def _with_template(owned: list[Object], deployment: Object) -> Object | None:
    digest = template_hash(deployment["spec"]["template"])
    for replica_set in owned:
        if (replica_set["metadata"].get("labels") or {}).get(HASH_LABEL) == digest:
            return replica_set
    return None


def _owner(obj: Object) -> dict[str, Any]:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _is_controlled(obj: Object, uid: str) -> bool:
    owner = metadata.controller_of(obj)
    return owner is not None and owner.get("uid") == uid


def _has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in TERMINAL


def _is_active(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and not _has_ended(pod)


def _given(value: Any, default: int) -> int:
    return default if value is None else int(value)
