"""The hub's users: what they declare, place, submit and take back, as by REST."""

from typing import Any

from sqlalchemy import select

from hub.domain.workloads.origin import Origin
from hub.services.jobs import cancel
from hub.services.leftovers import left_objects
from hub.services.objects import effects
from hub.services.objects.apply import apply_documents
from hub.services.objects.clusters import set_cordoned
from hub.services.objects.delete import delete_object
from hub.services.objects.drain import drain_cluster
from hub.services.reading.draft import draft
from hub.services.removals.decide import Chosen, decide
from hub.store import objects, tables, workloads, works
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import CLUSTER
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from shared.kinds.registry import parse
from tests.services.hubs import a_job
from tests.simulation.owners.acts import CLASS, MEMBERS, PLACED, SPACES
from tests.simulation.owners.ledger import MADE

Object = dict[str, Any]


async def declare(hub: Any, member: str) -> None:
    """A member of the hub, and what its users have declared from the start."""
    await put(
        hub, {"apiVersion": f"{CLUSTER}/v1", "kind": "MemberCluster", "metadata": {"name": member}}
    )


def declared(space: str, api_version: str, kind: str, name: str, version: int) -> Object:
    """An object as the hub's users write it."""
    data = {"color": "blue" if version == 0 else f"blue-{version}", "size": "ten"}
    body: Object = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": space},
    }
    if kind == "Secret":
        import base64

        data = {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}
        body["type"] = "Opaque"
    return {**body, "data": data}


def a_class(value: int = 1000, description: str = "gold") -> Object:
    return {
        "apiVersion": CLASS[0], "kind": CLASS[1], "metadata": {"name": CLASS[2]},
        "value": value, "description": description,
    }  # fmt: skip


def a_placement(name: str, policy: str, apply: Any, end: str, scope: str) -> Object:
    space, _, own = name.rpartition("/")
    kind = "ResourcePlacement" if space else "ClusterResourcePlacement"
    if space:
        selected = [{"group": "", "version": "v1", "kind": "ConfigMap"}]
        if own == "two":
            selected = [{"group": "", "version": "v1", "kind": "Secret", "name": "keys"}]
    elif name.startswith("ns-"):
        selected = [
            {
                "group": "",
                "version": "v1",
                "kind": "Namespace",
                "name": name[3:],
                "selectionScope": scope,
            }
        ]
    else:
        selected = [
            {
                "group": "scheduling.k8s.io",
                "version": "v1",
                "kind": "PriorityClass",
                "name": CLASS[2],
            }
        ]
    strategy: Object = {
        "applyStrategy": {k: dict(v) if isinstance(v, tuple) else v for k, v in apply},
        "deleteStrategy": {"propagationPolicy": end},
        "rollingUpdate": {"maxUnavailable": "100%", "unavailablePeriodSeconds": 1},
    }
    picks: dict[str, Object] = {
        "all": {"placementType": "PickAll"},
        "one": {"placementType": "PickN", "numberOfClusters": 1},
        "both": {"placementType": "PickFixed", "clusterNames": list(MEMBERS)},
    }
    picked = picks.get(policy) or {"placementType": "PickFixed", "clusterNames": [policy]}
    metadata = {"name": own, **({"namespace": space} if space else {})}
    spec = {"resourceSelectors": selected, "policy": picked, "strategy": strategy}
    return {"apiVersion": f"{PLACEMENT}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def a_timed_job(space: str, name: str, seconds: int) -> Object:
    """A Job of one pod that runs so long."""
    job = a_job(name, space)
    annotations = {"sim.roadstead.dev/run-seconds": str(seconds)}
    job["spec"]["template"]["metadata"] = {"annotations": annotations}
    return job


async def put(hub: Any, *manifests: Object) -> str:
    """Apply as a person does by REST; the refusal, "" if there is none."""

    def apply(tx: Transaction) -> str:
        drafts = [draft(parse(each), tx.now) for each in manifests]
        done = apply_documents(tx, drafts, hub.hub.settings.intake)
        return "; ".join(f"{each.error}" for each in done if each.error)

    return str(await hub.hub.write(apply))


class Users:
    """The people who use the hub."""

    def __init__(self, fleet: Any) -> None:
        self.fleet = fleet
        self.placed: set[str] = set()
        self.lost: set[str] = (
            set()
        )  # placements of which members may have objects that nobody knows
        self._numbers = dict.fromkeys(SPACES, 0)

    async def open(self) -> None:
        manifests = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": s}} for s in SPACES
        ]
        manifests += [declared(space, *each, 0) for space in SPACES for each in PLACED]
        manifests.append(a_class())
        for each in manifests:
            self.fleet.hub_side.knows(each)
        said = await put(self.fleet.hub, *manifests)
        assert not said, said
        for space in SPACES:
            await self._read_there(space)

    async def remake(self, space: str) -> str:
        """Somebody deletes the Namespace on the hub cluster with its Jobs, and makes another of its name."""
        await self.unsubmit(space)
        self._numbers[space] += 1
        return await self._read_there(space)

    async def _read_there(self, space: str) -> str:
        """The bridge reads the Namespace on the hub cluster."""
        uid = f"{space}-{self._numbers[space]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}

        def take(tx: Transaction) -> str:
            given = draft(parse(body), tx.now, origin=Origin.HUB_CLUSTER, uid=uid)
            done = apply_documents(tx, [given], self.fleet.hub.hub.settings.intake)
            return "; ".join(f"{each.error}" for each in done if each.error)

        return str(await self.fleet.hub.hub.write(take))

    async def place(self, name: str, policy: str, apply: Any, end: str, scope: str) -> str:
        given = dict(apply)
        if given.get("type") != "ReportDiff":
            mode = given.get("whenToTakeOver", "IfNoDiff")
            self.fleet.hub_side.modes.add(mode)
        said = await put(self.fleet.hub, a_placement(name, policy, apply, end, scope))
        if not said:
            self.placed.add(name)
        return said

    async def unplace(self, name: str) -> str:
        space, _, own = name.rpartition("/")
        kind = "ResourcePlacement" if space else "ClusterResourcePlacement"

        def delete(tx: Transaction) -> None:
            delete_object(tx, PLACEMENT, kind, space, own, origin="rest", principal="ann")

        try:
            await self.fleet.hub.hub.write(delete)
        except Rejected as refusal:
            return str(refusal)
        self.placed.discard(name)
        return ""

    async def lose(self, name: str) -> str:
        """The store goes back to before a placement: nobody knows of what it has in members."""
        space, _, own = name.rpartition("/")
        kind = "ResourcePlacement" if space else "ClusterResourcePlacement"

        def lose(tx: Transaction) -> bool:
            row = objects.find(tx, PLACEMENT, kind, space, own)
            if row is None:
                return False
            held = works.of_placement(tx, row.uid)
            works.remove(tx, [(work.cluster, work.uid) for work in held if work.epoch == 0])
            objects.remove(tx, row.uid)
            effects.deleted(tx, row)
            return True

        if not await self.fleet.hub.hub.write(lose):
            return "there is none"
        self.placed.discard(name)
        self.lost.add(name)
        return ""

    async def decide(self, member: str, how: Any) -> str:
        """An administrator decides about all that a member is listed to have left."""
        chosen = Chosen(cluster=member)
        try:
            done = await self.fleet.hub.hub.write(decide, how, chosen, "ann", dry_run=False)
        except Rejected as refusal:
            return str(refusal)
        return f"{done['count']}"

    async def left(self) -> list[str]:
        """What is listed, member by member."""
        found = await self.fleet.hub.hub.read(left_objects.list_left)
        return sorted({row["cluster"] for row in found})

    async def drain(self, member: str, _seconds: float) -> str:
        def drain(tx: Transaction) -> None:
            drain_cluster(tx, member, "ann", carry_out=True)

        await self.fleet.hub.hub.write(drain)
        return ""

    async def uncordon(self, member: str) -> str:
        await self.fleet.hub.hub.write(lambda tx: set_cordoned(tx, member, "ann", on=False))
        return ""

    async def submit(self, space: str, name: str, seconds: int) -> str:
        job = a_timed_job(space, name, seconds)
        job["metadata"]["annotations"] = {MADE: str(self._numbers[space])}
        self.fleet.hub_side.knows(job)
        return await put(self.fleet.hub, job)

    async def unsubmit(self, space: str) -> str:
        def delete(tx: Transaction) -> None:
            for uid in self._jobs(tx):
                row = workloads.get(tx, uid)
                if row is not None and row.namespace == space:
                    cancel.delete_job(tx, uid, "ann")

        await self.fleet.hub.hub.write(delete)
        return ""

    async def unsubmit_all(self) -> None:
        for space in SPACES:
            await self.unsubmit(space)

    @staticmethod
    def _jobs(tx: Transaction) -> list[str]:

        held = select(tables.workloads.c.uid).where(tables.workloads.c.deleted_at.is_(None))
        return [row.uid for row in tx.conn.execute(held)]

    async def change(self, space: str, which: tuple[str, str, str], version: int) -> str:
        body = declared(space, *which, version)
        self.fleet.hub_side.knows(body)
        return await put(self.fleet.hub, body)
