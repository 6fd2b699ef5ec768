"""Which kinds are followed, in which version, and when their objects are looked at again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.check_conditions import CheckConditions
from hub.bridge.crds import install_crds
from hub.bridge.following import Following
from hub.bridge.kinds import JOB, WORKLOAD, Mirrored
from hub.bridge.sources import Sources
from hub.store.errors import StaleTerm
from shared.kinds.crds import OWNER, all_crds
from tests.bridge.hub_cluster import FIELDS, until
from tests.bridge.parts import (
    CHECK,
    CONFIG_MAP,
    KINDS,
    Parts,
    a_check,
    a_config_map,
    a_placement_row,
    on_simulated,
)
from tests.store.build import an_object

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("versions", "taken"),
    [
        (("v1",), "v1"),
        (("v9", "v1"), "v1"),
        (("v1", "v9"), "v1"),
        (("v9", "v8"), "v9"),
    ],
)
async def test_the_first_version_that_is_served_is_read(
    tmp_path: Path, versions: tuple[str, ...], taken: str
):
    """Where none is, the first is waited for."""
    async with on_simulated(tmp_path, []) as (it, _):
        await it.sources.add(Mirrored("", "Secret", versions))
        await it.sources.add(Mirrored("", "Secret", ("v7",)))
        source = it.sources.source("", "Secret")
        assert source is not None
        assert source.informer.api_version == taken


async def test_of_two_versions_that_are_served_the_first_is_read(tmp_path: Path):
    """Kueue's older one, which all of its installations serve."""
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD]) as (it, _):
        source = it.sources.source(WORKLOAD.group, WORKLOAD.kind)
        assert source is not None
        assert source.informer.api_version == "kueue.x-k8s.io/v1beta1"


async def test_a_kind_of_the_hubs_that_may_not_be_read_is_asked_for_again_soon(tmp_path: Path):
    """Rights that come a moment later than the hub are no reason to wait for minutes."""
    async with on_simulated(tmp_path, [CONFIG_MAP]) as (it, cluster):
        cluster.faults.add("403", verb="list", resource="jobs")
        await it.sources.add(JOB)

        async def synced() -> bool:
            source = it.sources.source("batch", "Job")
            return source is not None and source.informer.synced.is_set()

        await until(synced)


async def test_a_whole_namespace_is_every_kind_that_may_be_placed(tmp_path: Path):
    """What is served in namespaces and can be watched; neither what nobody places, nor cluster-wide."""
    async with on_simulated(tmp_path) as (it, _):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "lab"}
        row = an_object(
            "whole",
            api_group="placement.kubernetes-fleet.io",
            kind="ClusterResourcePlacement",
            namespace="",
            spec={"resourceSelectors": [selector]},
        )
        assert following.learn([row])
        await following.turn()
        kinds = {(each.kind.group, each.kind.kind) for each in it.sources}
        assert {("", "Secret"), ("apps", "Deployment"), ("", "ConfigMap")} <= kinds
        assert not kinds & {
            ("", "Node"), ("", "Pod"), ("", "Event"), ("events.k8s.io", "Event"),
            ("storage.k8s.io", "StorageClass"), ("authorization.k8s.io", "LocalSubjectAccessReview"),
        }  # fmt: skip
        assert not following.learn([row]), "nothing of it has changed"


async def test_a_kind_that_comes_later_is_taken_with_a_whole_namespace(tmp_path: Path):
    """Whoever installs a CustomResourceDefinition touches no placement; where none takes a whole namespace
    nothing is asked.
    """
    async with on_simulated(tmp_path) as (it, _):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        await following.look_for_kinds()
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "lab"}
        row = a_placement_row("ConfigMap", "lab", "one")
        row = row._replace(kind="ClusterResourcePlacement", spec={"resourceSelectors": [selector]})
        following.learn([row])
        await following.turn()
        await following.look_for_kinds()
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True}
        names = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"}
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        }
        await it.kube.create(crd, field_manager=FIELDS)

        async def followed() -> bool:
            await following.look_for_kinds()
            await following.turn()
            return it.sources.source("example.com", "Gadget") is not None

        await until(followed)
        following.drop(row.uid)
        await following.look_for_kinds()


async def test_what_was_there_before_is_looked_at_for_a_new_placement(tmp_path: Path):
    """Of a kind that is followed already, too: nobody has to touch the object."""
    async with on_simulated(tmp_path) as (it, _):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        made = [await it.create(a_config_map(name)) for name in ("one", "two")]
        await it.take()
        found = []
        for number, name in enumerate(("one", "two")):
            row = a_placement_row("ConfigMap", "lab", name)._replace(uid=f"p-{number}")
            assert following.learn([row])
            await following.turn()
            await it.take()
            found.append([bool(await it.object(each)) for each in made])
        assert found == [[True, False], [True, True]]


async def test_a_placement_that_changes_while_its_kinds_are_looked_up_is_looked_at_again(
    tmp_path: Path,
):
    """What it selects by now is followed too."""
    async with on_simulated(tmp_path, []) as (it, _):
        later = a_placement_row("ConfigMap", "lab", "one")._replace(generation=2)
        sources = ChangingSources(it.kube, it.hub.hub.clock, lambda: None)
        following = Following(it.kube, sources, it.index, it.hub.hub.clock)
        sources.meanwhile = lambda: following.learn([later])
        following.learn([a_placement_row("Secret", "lab", "one")])
        try:
            await following.turn()
            await following.turn()
            assert {each.kind.kind for each in sources} == {"Secret", "ConfigMap"}
        finally:
            await sources.close()


class ChangingSources(Sources):
    """While a kind is looked up the store's feed tells of something."""

    meanwhile: Callable[[], object]

    async def add(self, kind: Mirrored) -> None:
        self.meanwhile()
        await super().add(kind)


# --- what controllers of checks say ---------------------------------------------------------------


def active(status: str, reason: str) -> dict[str, Any]:
    at = "2026-05-01T00:00:00Z"
    said = {"type": "Active", "status": status, "reason": reason, "message": "m"}
    return {**said, "lastTransitionTime": at}


async def heard(it: Parts, made: dict[str, Any]) -> list[str]:
    row = await it.object(made)
    assert row is not None
    return [each["reason"] for each in (row.status or {}).get("conditions") or ()]


async def test_a_check_whose_controller_goes_and_comes_back_is_heard_each_time(tmp_path: Path):
    """The last word counts, also one that was said before."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check())
        await it.take()
        checks = CheckConditions(it.hub.hub, it.sources)
        told = []
        for status, reason in (("True", "Here"), ("False", "Gone"), ("True", "Here")):
            said = {"status": {"conditions": [active(status, reason)]}}
            await it.patch(made, said, "status")
            await checks.turn(it.term)
            told.append(await heard(it, made))
        assert told == [["Here"], ["Gone"], ["Here"]]


async def test_a_word_that_a_failed_turn_did_not_take_is_taken_by_the_next(tmp_path: Path):
    """Who no longer leads hears nothing; who does hears all."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = [await it.create(a_check(name)) for name in ("budget", "licence")]
        await it.take()
        for each in made:
            await it.patch(each, {"status": {"conditions": [active("True", "Here")]}}, "status")
        checks = CheckConditions(it.hub.hub, it.sources)
        with pytest.raises(StaleTerm):
            await checks.turn(it.term - 1)
        await checks.turn(it.term)
        assert [await heard(it, each) for each in made] == [["Here"], ["Here"]]


async def test_nobody_speaks_for_the_hubs_own_check(tmp_path: Path):
    """Its condition is the hub's to say; what stands in the object is not heard."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check(controller="kueue.x-k8s.io/multikueue"))
        await it.take()
        before = await heard(it, made)
        await it.patch(made, {"status": {"conditions": [active("True", "Forged")]}}, "status")
        await CheckConditions(it.hub.hub, it.sources).turn(it.term)
        assert await heard(it, made) == before


# --- definitions ----------------------------------------------------------------------------------


async def test_definitions_are_installed_once_and_brought_up_to_date(tmp_path: Path):
    """What is as it should be is not written; an older one of ours is replaced, with others' labels."""
    async with on_simulated(tmp_path, []) as (it, _):
        clock = it.hub.hub.clock
        assert await install_crds(it.kube, clock) == []
        first = await versions(it)
        assert set(first) == {crd["metadata"]["name"] for crd in all_crds().values()}
        assert await install_crds(it.kube, clock) == []
        assert await versions(it) == first
        name = "cohorts.kueue.x-k8s.io"
        older = await it.kube.get(CRDS, "CustomResourceDefinition", "", name)
        wanted = older["spec"]["names"]
        older["spec"]["names"] = {**wanted, "shortNames": ["older"]}
        older["metadata"]["labels"] = {**OWNER, "team": "red"}
        await it.kube.replace(older, field_manager=FIELDS)
        changed = await versions(it)
        assert await install_crds(it.kube, clock) == []
        mended = await it.kube.get(CRDS, "CustomResourceDefinition", "", name)
        assert mended["metadata"]["labels"] == {**OWNER, "team": "red"}
        assert mended["spec"]["names"].get("shortNames") == wanted.get("shortNames")
        last = await versions(it)
        assert {each for each in last if last[each] != changed[each]} == {name}


CRDS = "apiextensions.k8s.io/v1"


async def versions(it: Parts) -> dict[str, str]:
    found = (await it.kube.list(CRDS, "CustomResourceDefinition")).items
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
