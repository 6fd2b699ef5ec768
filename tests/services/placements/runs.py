"""A fleet whose placement is driven by staged update runs: two canaries, then the others."""

from typing import Any

from hub.services.objects.delete import delete_object
from hub.services.placements.staged import approvals
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from tests.services.members.hubs import Running
from tests.services.placements.fleet import CONFIG, FLEET, Fleet

MEMBERS = ("m1", "m2", "m3", "m4")
EXTERNAL = CONFIG + "  strategy: {type: External}\n"
GREEN = EXTERNAL.replace("color: blue", "color: green")
PLACEMENT = ("ResourcePlacement", "everywhere", "shop")
STRATEGY = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: StagedUpdateStrategy
metadata: {name: careful, namespace: shop}
spec:
  stages:
  - name: canary
    labelSelector: {matchLabels: {tier: canary}}
  - name: rest
    labelSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}
    maxConcurrency: 2
"""
TASKS = "    afterStageTasks: [{type: Approval}, {type: TimedWait, waitTime: 10m}]\n"
WITH_TASKS = STRATEGY.replace("  - name: rest", TASKS + "  - name: rest")


def run(name: str, index: str = "", state: str = "Run", strategy: str = "careful") -> str:
    version = f'resourceSnapshotIndex: "{index}", ' if index else ""
    return f"""
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: StagedUpdateRun
metadata: {{name: {name}, namespace: shop}}
spec: {{placementName: everywhere, {version}stagedRolloutStrategyName: {strategy}, state: {state}}}
"""


async def started(hub: Running, *documents: str, placed: bool = True) -> Fleet:
    """m1 and m2 are canaries, m3 and m4 are not; `placed`: with the placement."""
    fleet = await Fleet.start(hub, *MEMBERS)
    for name in MEMBERS:
        label = "labels: {tier: canary}" if name in ("m1", "m2") else "labels: {}"
        await fleet.apply(
            f"""
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {{name: {name}, {label}}}
spec: {{identity: {{kind: User, name: {name}, apiGroup: rbac.authorization.k8s.io}}}}
"""
        )
    for each in ((EXTERNAL,) if placed else ()) + documents:
        await fleet.apply(each)
    return fleet


async def row_of(fleet: Fleet, name: str, kind: str = "StagedUpdateRun") -> StoredObject:
    found = await fleet.hub.hub.read(objects.find, FLEET, kind, "shop", name)
    assert found is not None, name
    return found


async def status_of(fleet: Fleet, name: str) -> dict[str, Any]:
    return (await row_of(fleet, name)).status or {}


async def progress(fleet: Fleet, name: str) -> tuple[str, str]:
    """Reason and message of condition Progressing; of Initialized where there is none."""
    said = {c["type"]: c for c in (await status_of(fleet, name))["conditions"]}
    found = said.get("Progressing") or said["Initialized"]
    return found["reason"], found["message"]


async def colors(fleet: Fleet) -> str:
    """What each member was given, once all have asked: its first letter, "-" for nothing."""
    found = ""
    for name in MEMBERS:
        await fleet.agents[name].sync()
        held = [w for w in fleet.agents[name].works.values() if w["kind"] == "ConfigMap"]
        given = [w["manifest"]["data"]["color"][0] for w in held if w["action"] == "Apply"]
        found += given[0] if given else "-"
    return found


async def roll(fleet: Fleet, times: int = 6, **said: Any) -> None:
    """All members say that they have what they were given, several times."""
    for _ in range(times):
        await fleet.sync(*MEMBERS, **said)


async def approve(fleet: Fleet, name: str, stage: str = "") -> None:
    run_row = await row_of(fleet, name)
    await fleet.hub.write(approvals.approve, run_row, stage, "", "ann")
    await fleet.turn()


async def delete(fleet: Fleet, kind: str, name: str) -> None:
    def gone(tx: Transaction) -> None:
        delete_object(tx, FLEET, kind, "shop", name, origin="rest", principal="ann")

    await fleet.hub.write(gone)
    await fleet.turn()
