"""What an earlier release took stays as it is: later rules judge what is new or has another spec."""

import copy
from dataclasses import replace

import pytest

from hub.services.jobs.revise import set_priority
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from shared.kinds.registry import parse
from tests.services.build import a_class
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import a_fleet, a_raycluster, a_rayjob, an_appwrapper

pytestmark = pytest.mark.anyio
OPTIONS = "gcsFaultToleranceOptions"


def kept(made, *at):
    """The same, whose cluster keeps its state in Redis, as an earlier release took it."""
    cluster = made["spec"]
    for name in at:
        cluster = cluster[name]
    cluster[OPTIONS] = {"redisAddress": "redis:6379"}
    return made


def annotated(made):
    made["metadata"]["annotations"] = {"ray.io/ft-enabled": "true"}
    return made


def placed():
    """An AppWrapper without a queue with two components of one name."""
    made = an_appwrapper(queue="")
    made["spec"]["components"].append(copy.deepcopy(made["spec"]["components"][0]))
    return made


ROWS = [
    kept(a_raycluster()),
    kept(a_rayjob(), "rayClusterSpec"),
    annotated(a_rayjob("other")),
    placed(),
]
ROWS = [pytest.param(each, id=f"{each['kind']}-{index}") for index, each in enumerate(ROWS)]


async def taken_before(fleet, manifest):
    """The object as a release without these rules took it: its uid."""

    def run(tx):
        given = replace(draft(parse(manifest), tx.now, stands=True), refused_if_new=None)
        return apply_documents(tx, [given], fleet.hub.settings.intake)

    await fleet.apply(*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}), a_class("high", 9))
    (applied,) = await fleet.hub.write(run)
    assert applied.error is None, applied.error
    return applied.uid


def with_label(manifest):
    made = copy.deepcopy(manifest)
    made["metadata"].setdefault("labels", {})["tier"] = "gold"
    return made


@pytest.mark.parametrize("manifest", ROWS)
async def test_it_is_applied_again_unchanged_and_with_another_label(tmp_path, manifest):
    """As it stands; the same object in another name is refused."""
    async with a_fleet(tmp_path) as fleet:
        uid = await taken_before(fleet, manifest)
        again = await fleet.try_apply(manifest)
        assert (again.result, again.uid) == ("unchanged", uid), again.error
        assert (await fleet.try_apply(with_label(manifest))).result == "configured"
        new = copy.deepcopy(manifest)
        new["metadata"]["name"] = "new"
        refused = await fleet.try_apply(new)
        assert str(refused.error.code) == "InvalidValue"


@pytest.mark.parametrize("manifest", ROWS)
async def test_another_spec_of_it_is_judged(tmp_path, manifest):
    """By the rule, before the one that a spec does not change."""
    async with a_fleet(tmp_path) as fleet:
        await taken_before(fleet, manifest)
        changed = copy.deepcopy(manifest)
        changed["spec"]["suspend"] = False
        refused = await fleet.try_apply(changed)
        assert str(refused.error.code) == "InvalidValue"


async def test_an_object_that_was_sound_gets_no_such_annotation(tmp_path):
    """Its spec is the same, and what is refused is new."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}))
        assert (await fleet.try_apply(a_rayjob())).result == "created"
        refused = await fleet.try_apply(annotated(a_rayjob()))
        assert refused.error.field == "metadata.annotations[ray.io/ft-enabled]"


async def test_its_priority_class_changes(tmp_path):
    """A label of the job, by which its spec is not judged."""
    async with a_fleet(tmp_path) as fleet:
        uid = await taken_before(fleet, kept(a_raycluster()))
        await fleet.hub.write(set_priority, uid, "high", fleet.hub.settings.intake, "ann")
        assert (await fleet.job(uid)).priority == 9
