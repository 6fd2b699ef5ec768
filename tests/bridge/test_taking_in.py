"""What the bridge takes from the hub cluster, what it tries again and leaves alone. Invariant R-16."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.crds import install_crds
from hub.bridge.following import Following
from hub.bridge.kinds import JOB, is_managed
from hub.domain.workloads.origin import Origin
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store import objects
from shared import labels
from shared.kinds import parse
from shared.kinds.crds import all_crds
from shared.kube import errors
from tests.bridge.hub_cluster import FIELDS
from tests.bridge.parts import (
    CONFIG_MAP,
    Parts,
    a_config_map,
    a_job,
    a_placement_row,
    on_simulated,
    parts,
)
from tests.kube.stub import running

pytestmark = pytest.mark.anyio


async def test_what_was_refused_is_taken_when_nothing_stands_against_it(tmp_path: Path):
    """The name was REST's; once it is free, nobody has to change the object for it to be taken."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        theirs = await declared_by_rest(it, a_config_map())
        made = await it.create(a_config_map())
        await it.take()
        assert it.mirror.refusals[made["metadata"]["uid"]].code == "OwnedElsewhere"
        await it.hub.write(objects.remove, theirs)
        it.mirror.retry_refused()
        await it.take()
        assert await it.object(made)
        assert not it.mirror.refusals


async def test_one_object_that_breaks_the_intake_stops_no_other(tmp_path: Path):
    """It alone is refused as unreadable, wherever it stands among the others."""
    names = ["a", "b", "c", "d", "e"]
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [CONFIG_MAP]) as it,
    ):
        it.select("ConfigMap", "team", *names)
        made = [stub.put(name) for name in names]
        for each in made:
            each["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        # A time that is one, and none that a store can hold.
        made[1]["metadata"]["creationTimestamp"] = "9999-12-31T23:59:59-14:00"
        for each in made:
            await it.shows(each)
        await it.take()
        assert [bool(await it.object(each)) for each in made] == [True, False, True, True, True]
        (refusal,) = it.mirror.refusals.values()
        assert refusal.code == "Unreadable"


async def test_a_job_that_has_ended_and_is_not_known_is_not_begun(tmp_path: Path):
    """Its record was deleted long ago, or it ran before the hub was there: it runs no second time."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        at = "2026-05-01T00:00:00Z"
        ended = [
            {"type": kind, "status": "True", "reason": "Done", "lastTransitionTime": at}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": ended}
        await it.patch(job, {"status": status}, "status")
        for _ in range(2):
            await it.take()
            await it.level(job)
        assert await it.job(job) is None


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("labels", "example.com/team", "a"),
        ("annotations", labels.PREFIX + "ignore-drift", "/spec/parallelism"),
    ],
)
async def test_a_change_of_marks_alone_is_taken(tmp_path: Path, part: str, key: str, value: str):
    """Labels and annotations raise no generation: the hub looks at them all the same."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.patch(job, {"metadata": {part: {key: value}}})
        await it.take()
        assert getattr(await it.job(job), part).get(key) == value


@pytest.mark.parametrize("mark", ["labels", "annotations"])
def test_a_job_that_a_controller_made_is_its_controllers(mark: str):
    """A suspended Job with a queue name is the hub's, unless a JobSet or CronJob runs it."""
    marked: dict[str, Any] = {mark: {labels.QUEUE_NAME: "queue"}}
    job = a_job(**marked)
    del job["spec"]["managedBy"]
    assert is_managed(job, known=False)
    job["metadata"]["ownerReferences"] = [{"kind": "JobSet", "controller": True}]
    assert not is_managed(job, known=False)


async def test_a_kind_whose_api_did_not_answer_is_followed_later(tmp_path: Path):
    """What a placement needs stays due until it could be followed."""
    async with on_simulated(tmp_path, [JOB]) as (it, cluster):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        row = a_placement_row("Widget", "lab", "one")
        row.spec["resourceSelectors"][0] |= {"group": "widgets.example.com"}
        following.learn([row])
        cluster.faults.add("503", count=0)
        with pytest.raises(errors.KubeError):
            await following.turn()
        cluster.faults.remove()
        await following.turn()
        assert it.sources.source("widgets.example.com", "Widget")


async def test_a_placement_that_is_gone_selects_nothing(tmp_path: Path):
    """What it alone would have selected stays where it is."""
    async with on_simulated(tmp_path) as (it, _):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        row = a_placement_row("ConfigMap", "lab", "one")
        following.learn([row])
        following.drop(row.uid)
        made = await it.create(a_config_map())
        await it.take()
        assert await it.object(made) is None


async def test_somebody_elses_definition_is_left_as_it_is(tmp_path: Path):
    """A kind that Kueue's own installation defined is used as it is served, and named."""
    (theirs,) = [each for each in all_crds().values() if each["spec"]["names"]["kind"] == "Cohort"]
    theirs = {**theirs, "metadata": {"name": theirs["metadata"]["name"]}}
    theirs["spec"] = {**theirs["spec"], "versions": theirs["spec"]["versions"][-1:]}
    theirs["spec"]["versions"][0] |= {"storage": True}
    async with on_simulated(tmp_path) as (it, _):
        made = await it.kube.create(theirs, field_manager=FIELDS)
        name = made["metadata"]["name"]
        assert await install_crds(it.kube, it.hub.hub.clock) == [name]
        live = await it.live(made)
        assert len(live["spec"]["versions"]) == 1


async def declared_by_rest(it: Parts, manifest: dict[str, Any]) -> str:
    """The uid of an object that came by REST."""
    given = draft(parse(manifest), it.hub.hub.clock.now(), origin=Origin.REST)
    (applied,) = await it.hub.write(apply_documents, [given], it.hub.hub.settings.intake)
    return applied.uid
