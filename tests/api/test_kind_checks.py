"""`POST /v1/kinds:check`: its cost is bounded, and some kinds cannot be defined."""

from typing import Any

import pytest

from hub.api.kinds import MOST_SAMPLES
from tests.api.serving import Served, served
from tests.services.hubs import a_queue
from tests.services.kinds.swarms import a_definition, a_swarm, an_extension

pytestmark = pytest.mark.anyio
# A product of many: allowed by its syntax, and work for minutes.
ENDLESS = (
    "[.spec.xs[] as $a | .spec.xs[] as $b | .spec.xs[] as $c | .spec.xs[] as $d | $a] | length"
)
SLOW = {"replicasPath": ENDLESS}


async def checked(hub: Served, *documents: dict[str, Any]) -> dict[str, Any]:
    """The answer to a check of these."""
    found: dict[str, Any] = (await hub.admin.post("/v1/kinds:check", json=documents)).json()
    return found


def slow_samples() -> list[dict[str, Any]]:
    """As many as may be sent, each too slow for a slow definition."""
    return [a_swarm(f"s{n}", xs=list(range(200))) for n in range(MOST_SAMPLES)]


async def test_an_expression_that_was_stopped_is_not_tried_for_the_other_samples(tmp_path):
    """All of them are refused, the first for its time and the others for the first."""
    async with served(tmp_path) as hub:
        told = await checked(hub, a_definition(scaleDefinition=SLOW), *slow_samples())
        first, *others = (each["reason"] for each in told["objects"])
        assert "took more than 200 ms" in first
        assert len(others) == MOST_SAMPLES - 1
        assert {"not tried again" in each for each in others} == {True}


async def test_a_kind_that_another_karta_defines_is_refused(tmp_path):
    """Before any sample is tried."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/apply", json=a_definition())).status_code == 200
        told = await checked(hub, a_definition("other", scaleDefinition=SLOW), *slow_samples())
        assert (told["code"], "defines" in told["detail"]) == ("InvalidValue", True), told


@pytest.mark.parametrize(
    ("group", "version", "kind", "why"),
    [
        ("Example.org", "v1", "Swarm", "Example.org is no API group"),
        ("example..org", "v1", "Swarm", "is no API group"),
        ("example.org/x", "v1", "Swarm", "is no API group"),
        ("-a.example.org", "v1", "Swarm", "is no API group"),
        ("Ray.io", "v1", "RayCluster", "is no API group"),
        ("example.org", "V1", "Swarm", "in CamelCase"),
        ("example.org", "v1", "swarm", "in CamelCase"),
        ("example.org", "v1", "Swarm set", "in CamelCase"),
        ("ray.io", "v1", "Raycluster", "Roadstead brings the definition of Raycluster"),
        ("ray.io", "v1", "RAYCLUSTER", "Roadstead brings the definition of RAYCLUSTER"),
        ("batch", "v1", "JOB", "Roadstead brings the definition of JOB"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/kinds:check", "/v1/apply"])
async def test_only_kinds_that_an_api_server_may_serve_beside_those_built_in_are_defined(
    tmp_path, path, group, version, kind, why
):
    """By the form of group, version and kind, and not by another spelling of a kind that is built in."""
    async with served(tmp_path) as hub:
        of = {"group": group, "version": version, "kind": kind}
        told = (await hub.admin.post(path, json=[a_definition(kind=of)])).json()
        told = told["items"][0] if "items" in told else told
        assert (told["code"], why in str(told)) == ("InvalidValue", True), told


@pytest.mark.parametrize("path", ["/v1/kinds:check", "/v1/apply"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("Job", "Job"), ("JOB", "Job"), ("CronJob", "CronJob"), ("Workload", "Workload")),
        *(("Pod", "Pod"), ("Deployment", "Deployment"), ("Rayjob", "RayJob")),
        *(
            ("AppWrapper", "AppWrapper"),
            ("Clusterqueue", "ClusterQueue"),
            ("Namespace", "Namespace"),
        ),
    ],
)
async def test_a_kind_of_the_name_of_a_known_one_is_not_defined_in_another_group(
    tmp_path, path, kind, name
):
    """Its objects would be taken for Jobs, whose absence they would prove; the refusal has the field."""
    async with served(tmp_path) as hub:
        of = {"group": "example.org", "version": "v1", "kind": kind}
        told = (await hub.admin.post(path, json=[a_definition(kind=of)])).json()
        told = told["items"][0] if "items" in told else told
        assert told["code"] == "InvalidValue", told
        field = "spec.structureDefinition.rootComponent.kind"
        assert told["detail"].startswith(
            f"{field}: {name} is a kind that Roadstead or Kubernetes has"
        )
        assert "define a kind of another name" in told["detail"]


async def test_an_extension_in_use_that_is_pointed_elsewhere_is_a_conflict(tmp_path):
    """The answer to apply is 409, as its description says."""
    async with served(tmp_path) as hub:
        for each in (*a_queue("q"), a_definition(), an_extension(), a_swarm()):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        refused = await hub.admin.post("/v1/apply", json=an_extension(karta="other"))
        assert (refused.status_code, refused.json()["code"]) == (409, "KindInUse")


async def test_a_kind_of_an_operator_is_defined(tmp_path):
    """With digits and hyphens where an API server allows them."""
    async with served(tmp_path) as hub:
        of = {"group": "swarm-2.example.org", "version": "v1alpha1", "kind": "Swarm2Set"}
        told = await checked(hub, a_definition(kind=of))
        assert [each["name"] for each in told["kinds"]] == ["swarm"], told
