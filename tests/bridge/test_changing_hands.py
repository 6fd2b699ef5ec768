"""Objects change hands: what kubectl made becomes REST's, what REST made the hub cluster's."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.services.objects import delete
from hub.services.objects.apply import apply_documents
from hub.services.objects.hand_over import hand_over
from hub.services.reading.draft import draft
from hub.store import objects, workloads
from hub.store.transaction import Transaction
from shared import labels
from shared.errors import Rejected
from shared.groups import KUEUE
from shared.kinds import parse
from shared.kubesim.server import mirror_guard
from tests.bridge.guide import absent
from tests.bridge.hub_cluster import World, until
from tests.bridge.rest import JOB, QUEUES, apply, is_mirror, mirror, refusal, remove_job, submit
from tests.bridge.showing import showing
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio
QUEUE = ("ClusterQueue", "main")
OF_KUBECTL = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: other}
spec: {namespaceSelector: {}}
"""
OTHER = ("ClusterQueue", "other")


async def test_a_queue_of_kubectl_becomes_rests(tmp_path: Path):
    """Its object is a mirror from then on, without our finalizer; REST changes it."""
    async with showing(tmp_path) as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        (made,) = await it.apply(OF_KUBECTL)
        await until(lambda: row(it, "other"))
        assert (await hand(it, "other", "rest"))["result"] == "handed-over"
        live = await mirror(it, *OTHER)
        assert live["metadata"]["uid"] == made["metadata"]["uid"]
        assert not live["metadata"].get("finalizers")
        assert mirror_guard.KEPT in await refusal(it, {"spec": {"stopPolicy": "Hold"}}, *OTHER, "")
        await apply(it, OF_KUBECTL.replace("{}}", "{}, stopPolicy: Hold}"))

        async def changed() -> bool:
            return (await it.get(*OTHER))["spec"].get("stopPolicy") == "Hold"

        await until(changed)


async def test_a_queue_of_rest_becomes_the_hub_clusters(tmp_path: Path):
    """The same object, now with our finalizer; kubectl changes it, and REST is refused."""
    async with showing(tmp_path) as it:
        shown = await mirror(it, *QUEUE)
        assert (await hand(it, "main", "hub-cluster"))["result"] == "handing-over"

        async def there() -> Any:
            found = await row(it, "main")
            return found if found and found.origin == "hub-cluster" else None

        stored = await until(there)
        live = await it.get(*QUEUE)
        assert live["metadata"]["uid"] == stored.uid == shown["metadata"]["uid"]
        assert not is_mirror(live)
        assert labels.FINALIZER in live["metadata"]["finalizers"]
        assert await refusal(it, {"spec": {"stopPolicy": "Hold"}}, *QUEUE, "") == ""

        async def held() -> bool:
            found = await row(it, "main")
            return found.spec.get("stopPolicy") == "Hold"

        await until(held)
        assert (await hand(it, "main", "hub-cluster"))["result"] == "unchanged"


async def test_what_rest_wrote_last_is_what_is_handed_over(tmp_path: Path):
    """A quota is raised, and the queue handed over before its mirror has followed."""
    async with showing(tmp_path) as it:
        await mirror(it, *QUEUE)
        await apply(it, QUEUES.replace("nominalQuota: 5", "nominalQuota: 50"))
        await hand(it, "main", "hub-cluster")

        async def there() -> Any:
            found = await row(it, "main")
            return found if found and found.origin == "hub-cluster" else None

        stored, live = await until(there), await it.get(*QUEUE)
        for spec in (stored.spec, live["spec"]):
            (flavor,) = spec["resourceGroups"][0]["flavors"]
            assert str(flavor["resources"][0]["nominalQuota"]) == "50"


async def test_rest_leaves_what_it_is_handing_over_until_it_takes_it_back(tmp_path: Path):
    """Neither change nor deletion gets lost on the way: both are refused, and say how to go on."""
    async with showing(tmp_path) as it:
        await mirror(it, *QUEUE)
        changed = [
            draft(parse(each), it.hub.hub.clock.now())
            for each in yaml.safe_load_all(QUEUES.replace("nominalQuota: 5", "nominalQuota: 50"))
        ]
        settings, place = it.hub.hub.settings, (KUEUE, *QUEUE[:1], "", QUEUE[1])

        def meanwhile(tx: Transaction) -> tuple[Any, Any, Any]:
            hand_over(tx, place, "hub-cluster", "ann", settings.bridge)
            applied = apply_documents(tx, changed, settings.intake)
            with pytest.raises(Rejected) as kept:
                delete.delete_object(tx, *place, origin="rest", principal="ann")
            hand_over(tx, place, "rest", "ann", settings.bridge)
            return applied, kept.value, apply_documents(tx, changed, settings.intake)

        before, kept, after = await it.hub.write(meanwhile)
        assert [each.error and each.error.code for each in before] == [
            None,
            "OwnedElsewhere",
            None,
        ]
        assert kept.code == "OwnedElsewhere"
        assert "take it back first" in kept.detail
        assert [each.error for each in after] == [None, None, None]
        assert (await row(it, "main")).origin == "rest"


async def test_a_running_job_of_kubectl_becomes_rests(tmp_path: Path):
    """It goes on in its epoch; kubectl can not delete it any more, and REST can."""
    async with showing(tmp_path) as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        (made,) = await it.apply(JOB)
        uid = made["metadata"]["uid"]
        await until(lambda: it.hub.hub.read(workloads.get, uid))
        agent = await it.hub.join("north")
        await it.hub.place(uid, "north")
        await agent.sync()
        await agent.sync(ran(uid, active=2, ready=2, running_since="2026-05-01T00:00:01Z"))
        assert (await hand_job(it, "rest"))["result"] == "handed-over"
        live = await mirror(it, "Job", "train", "team-a")
        assert live["metadata"]["uid"] == uid
        assert live["spec"]["suspend"] is True
        with pytest.raises(Exception, match="only the hub changes it"):
            await it.delete("Job", "train", "team-a")
        job = await it.hub.job(uid)
        assert (job.state, job.epoch, job.origin) == ("Running", 1, "rest")
        await remove_job(it, uid)
        assert (await it.hub.job(uid)).withdraw_to == "Deleted"


async def test_where_jobs_are_not_shown_one_handed_over_goes_on_unseen(tmp_path: Path):
    """Its object leaves the hub cluster, and takes nothing with it."""
    async with showing(tmp_path, jobs="Off") as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        (made,) = await it.apply(JOB)
        uid = made["metadata"]["uid"]
        await until(lambda: it.hub.hub.read(workloads.get, uid))
        await hand_job(it, "rest")
        await until(lambda: absent(it, "Job", "train", "team-a"))
        job = await it.hub.job(uid)
        assert (job.live, job.state, job.withdraw_to) == (True, "Pending", "")


async def test_what_can_not_change_hands_is_refused(tmp_path: Path):
    """Jobs of REST, and kinds that the hub cluster does not show."""
    async with showing(tmp_path) as it:
        await submit(it)
        with pytest.raises(Rejected, match="stays REST's") as refused:
            await hand_job(it, "hub-cluster")
        assert refused.value.code == "NotHandedOver"
        with pytest.raises(Rejected, match="not shown"):
            await it.hub.write(
                hand_over,
                ("", "ConfigMap", "team-a", "one"),
                "rest",
                "ann",
                it.hub.hub.settings.bridge,
            )


async def hand(it: World, name: str, to: str) -> Any:
    place = (KUEUE, "ClusterQueue", "", name)
    return await it.hub.write(hand_over, place, to, "ann", it.hub.hub.settings.bridge)


async def hand_job(it: World, to: str) -> Any:
    place = ("batch", "Job", "team-a", "train")
    return await it.hub.write(hand_over, place, to, "ann", it.hub.hub.settings.bridge)


async def row(it: World, name: str) -> Any:
    return await it.hub.hub.read(objects.find, KUEUE, "ClusterQueue", "", name)
