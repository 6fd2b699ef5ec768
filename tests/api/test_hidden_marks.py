"""Marks that stand for hidden values are refused wherever a manifest comes in."""

from typing import Any

import pytest

from hub.services.context.settings import Settings
from tests.api.serving import served
from tests.services.hubs import a_job, a_queue
from tests.services.jobs.cron_jobs import a_cron_job

pytestmark = pytest.mark.anyio
ENV = [{"name": "KEY", "value": "[hidden]"}]
AT = "spec.template.spec.containers[0].env[0].value"


def hidden(manifest: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    """The manifest as a viewer reads it; `template`: of its pods."""
    template["spec"]["containers"][0]["env"] = ENV
    return manifest


def a_hidden_job() -> dict[str, Any]:
    job = a_job("one", queue="q")
    return hidden(job, job["spec"]["template"])


def a_hidden_cron_job() -> dict[str, Any]:
    cron_job = a_cron_job()
    return hidden(cron_job, cron_job["spec"]["jobTemplate"]["spec"]["template"])


def a_hidden_deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": "web", "namespace": "team-a"}
    found = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    return hidden(found, template)


def a_hidden_secret(**texts: str) -> dict[str, Any]:
    metadata = {"name": "key", "namespace": "team-a"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        (a_hidden_job(), AT),
        (a_hidden_cron_job(), f"spec.jobTemplate.{AT}"),
        (a_hidden_deployment(), AT),
        (a_hidden_secret(key="hidden:0123456789abcdef"), "stringData.key"),
    ],
    ids=["Job", "CronJob", "Deployment", "stringData"],
)
async def test_an_applied_mark_is_refused_with_its_field(tmp_path, manifest, field):
    """Of every kind."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q"):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        told = (await hub.admin.post("/v1/apply", json=manifest)).json()["items"][0]
        assert (told["result"], told["code"]) == ("rejected", "InvalidValue")
        assert told["detail"].startswith(f"{field}: [hidden] stands for")
        plan = await hub.admin.post("/v1/plan", json=manifest)
        assert plan.status_code == 422


async def test_a_submitted_mark_is_refused_alone_and_in_a_batch(tmp_path):
    """A job would run with the mark as its value."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q"):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        told = await hub.admin.post("/v1/jobs", json=a_hidden_job())
        assert (told.status_code, told.json()["code"]) == (422, "InvalidValue")
        told = await hub.admin.post("/v1/jobs:batch", json=[a_hidden_job()])
        assert "[hidden] stands for" in told.text


async def test_the_same_text_elsewhere_is_taken(tmp_path):
    """The hub hides no value of a ConfigMap."""
    async with served(tmp_path, Settings()) as hub:
        metadata = {"name": "settings", "namespace": "team-a"}
        data = {"value": "[hidden]", "at": "hidden:0123456789abcdef"}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        assert (await hub.admin.post("/v1/apply", json=manifest)).status_code == 200
