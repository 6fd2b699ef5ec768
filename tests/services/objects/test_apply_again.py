"""What applying an object a second time changes of its row, and what of it stays."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects.apply import Applied, apply_documents, apply_for
from hub.services.reading.draft import draft
from hub.store import audit, events, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds.registry import parse
from tests.services.hubs import KUEUE, Running, a_job, a_queue, running

pytestmark = pytest.mark.anyio


def a_config(labels: dict[str, str], annotations: dict[str, str], **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    metadata = {
        "name": "settings",
        "namespace": "team-a",
        "labels": labels,
        "annotations": annotations,
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def stored(
    hub: Running, group: str, kind: str, namespace: str, name: str
) -> StoredObject | None:
    return await hub.hub.read(objects.find, group, kind, namespace, name)


async def mirrored(hub: Running, uid: str, manifest: dict[str, Any]) -> Applied:
    """Apply what the hub cluster holds under that uid."""

    def run(tx: Transaction) -> Applied:
        given = draft(parse(manifest), tx.now, origin=Origin.HUB_CLUSTER, uid=uid)
        return apply_documents(tx, [given], hub.hub.settings.intake)[0]

    return await hub.hub.db.write(run)


async def test_an_object_becomes_what_is_applied_and_keeps_who_it_is(tmp_path: Path) -> None:
    """Everything that a manifest says is replaced; uid, origin and the time it was made stay."""
    async with running(tmp_path) as hub:
        await hub.apply(a_config({"tier": "web"}, {"note": "old"}, color="blue"))
        before = await stored(hub, "", "ConfigMap", "team-a", "settings")
        hub.clock.advance(60)
        changed = a_config({"tier": "db"}, {"note": "new"}, color="red")
        await hub.apply(changed)
        after = await stored(hub, "", "ConfigMap", "team-a", "settings")
        assert before is not None
        assert after is not None
        assert after.hash != before.hash
        assert after == before._replace(
            labels={"tier": "db"},
            annotations={"note": "new"},
            manifest=changed,
            hash=after.hash,
            generation=2,
            updated_at=hub.clock.now(),
        )


async def test_a_change_of_labels_is_no_new_generation(tmp_path: Path) -> None:
    """The generation counts what is asked for, as Kubernetes' does; an Event says which one it is."""
    async with running(tmp_path) as hub:
        await hub.apply(a_config({}, {}, color="blue"))
        await hub.apply(a_config({"tier": "web"}, {}, color="blue"))
        row = await stored(hub, "", "ConfigMap", "team-a", "settings")
        assert row is not None
        assert (row.generation, row.labels) == (1, {"tier": "web"})
        await hub.apply(a_config({"tier": "web"}, {}, color="red"))
        row = await stored(hub, "", "ConfigMap", "team-a", "settings")
        assert row is not None
        said = await hub.hub.read(lambda tx: events.list_events(tx, uid=row.uid))
        assert [(e.reason, e.message, e.type) for e in said] == [
            ("Created", "generation 1, from rest", "Normal"),
            ("Configured", "generation 1, from rest", "Normal"),
            ("Configured", "generation 2, from rest", "Normal"),
        ]


async def test_the_same_object_in_another_version_of_its_kind_is_a_change(tmp_path: Path) -> None:
    """What members are given is in the version that was applied last, even where no field differs."""
    async with running(tmp_path) as hub:
        made = {
            "apiVersion": "example.com/v1beta1",
            "kind": "Widget",
            "metadata": {"name": "one", "namespace": "team-a"},
            "spec": {"size": 1},
        }
        await hub.apply(made)
        await hub.apply({**made, "apiVersion": "example.com/v1"})
        row = await stored(hub, "example.com", "Widget", "team-a", "one")
        assert row is not None
        assert (row.api_version, row.manifest["apiVersion"]) == (
            "example.com/v1",
            "example.com/v1",
        )


async def test_a_queue_that_is_changed_keeps_its_conditions_times(tmp_path: Path) -> None:
    """A condition that holds as before keeps its time, though it is of a newer generation now."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("gold", quota={"cpu": "1"}))
        made = hub.clock.now()
        hub.clock.advance(60)
        await hub.apply(*a_queue("gold", quota={"cpu": "2"}))
        row = await stored(hub, "kueue.x-k8s.io", "ClusterQueue", "", "gold")
        assert row is not None
        (active,) = row.status["conditions"]
        assert active["lastTransitionTime"] == made.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (active["observedGeneration"], row.generation) == (2, 2)


async def test_a_refused_change_names_the_object_that_stays(tmp_path: Path) -> None:
    """An answer of refusal bears the uid of what is there; an unknown one has none."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_config({}, {}, color="blue"))
        (job,) = await hub.apply(a_job("one", count=2))
        other = await mirrored(hub, "u-2", a_config({}, {}, color="red"))
        assert (other.result, other.uid) == ("rejected", uid)
        worse = a_job("one", count=2)
        worse["spec"]["completionMode"] = "Indexed"

        def run(tx: Transaction) -> Applied:
            given = draft(parse(worse), tx.now)
            return apply_documents(tx, [given], hub.hub.settings.intake)[0]

        refused = await hub.hub.db.write(run)
        assert (refused.result, refused.uid) == ("rejected", job)


async def test_an_object_made_anew_on_the_hub_cluster_is_another_one(tmp_path: Path) -> None:
    """Of the deleted one nothing is left: uid, generation and status are the new one's."""
    async with running(tmp_path) as hub:
        await mirrored(hub, "u-1", a_config({}, {}, color="blue"))
        await mirrored(hub, "u-1", a_config({}, {}, color="green"))
        await mirrored(hub, "u-2", a_config({}, {}, color="red"))
        row = await stored(hub, "", "ConfigMap", "team-a", "settings")
        assert row is not None
        assert (row.uid, row.generation, row.manifest["data"]) == ("u-2", 1, {"color": "red"})


async def test_a_job_made_anew_while_the_first_lives_is_refused(tmp_path: Path) -> None:
    """Only a finished one gives its name to the hub cluster's next Job of that name."""
    async with running(tmp_path) as hub:
        await mirrored(hub, "u-1", a_job("one"))
        early = await mirrored(hub, "u-2", a_job("one"))
        assert (early.result, (await hub.job("u-1")).state) == ("rejected", "Pending")
        await hub.transition("fail", "u-1")
        late = await mirrored(hub, "u-2", a_job("one"))
        assert (late.result, late.uid) == ("created", "u-2")
        assert (await hub.job("u-1")).live is None
        assert (await hub.job("u-2")).live is True


async def test_who_applied_what_and_what_became_of_it_is_written_down(tmp_path: Path) -> None:
    """One line per document that changed something, with place, uid and outcome; none for others."""
    async with running(tmp_path) as hub:
        manifests = [a_config({}, {}, color="blue"), a_job("one")]

        async def apply(*given: dict[str, Any]) -> list[str]:
            def run(tx: Transaction) -> list[str]:
                drafts = [draft(parse(each), tx.now) for each in given]
                applied = apply_for(tx, drafts, hub.hub.settings.intake, "ada")
                return [each.uid for each in applied]

            return await hub.hub.db.write(run)

        config, job = await apply(*manifests)
        await apply(*manifests)
        await apply(a_config({}, {}, color="red"))
        entries = await hub.hub.read(audit.list_entries)
        assert [(e.principal, e.verb, e.object, e.outcome) for e in reversed(entries)] == [
            ("ada", "apply", f"ConfigMap team-a/settings {config}", "created"),
            ("ada", "apply", f"Job team-a/one {job}", "created"),
            ("ada", "apply", f"ConfigMap team-a/settings {config}", "configured"),
        ]


async def test_queues_follow_whichever_document_of_many_concerned_them(tmp_path: Path) -> None:
    """A queue between other objects of one apply says at once how it stands."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("gold"), a_config({}, {}, color="blue"))
        row = await stored(hub, "kueue.x-k8s.io", "LocalQueue", "team-a", "gold")
        assert row is not None
        assert [(c["type"], c["status"]) for c in row.status["conditions"]] == [("Active", "True")]


async def test_a_workload_that_waits_for_its_queue_is_admitted_with_it(tmp_path: Path) -> None:
    """The queue's own apply makes it a unit of admission: it is an object no longer."""
    bare = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": "bare", "namespace": "team-a"},
        "spec": {
            "queueName": "gold",
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [
                                {
                                    "name": "c",
                                    "image": "busybox",
                                    "resources": {"requests": {"cpu": "1"}},
                                }
                            ],
                        }
                    },
                }
            ],
        },
    }
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(bare)
        held = await stored(hub, "kueue.x-k8s.io", "Workload", "team-a", "bare")
        assert held is not None
        (said,) = held.status["conditions"]
        assert (said["type"], said["status"], said["reason"]) == (
            "QuotaReserved",
            "False",
            "QueueNotFound",
        )
        await hub.apply(*a_queue("gold"))
        assert await stored(hub, "kueue.x-k8s.io", "Workload", "team-a", "bare") is None
        assert (await hub.job(uid)).state == "Pending"
