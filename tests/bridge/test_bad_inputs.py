"""Bad jobs through the hub cluster: refused by its API server, or told by a Warning with the code."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.services.questions import jobs
from shared.errors import Rejected
from shared.kube import errors
from tests.bad_inputs.cases import Case, job_cases
from tests.bridge.hub_cluster import NAMESPACES, World, until, warnings, world

pytestmark = pytest.mark.anyio
# Requests that kubectl does not make (1-12); kinds that are nobody's here (13); what the API server
# answers by its own rules: a name that is taken (17), fields that servers own (20), unknown ones (41).
# A Job of somebody else's managedBy is left alone (40.0).
OTHERWISE = {*range(1, 14), 17, 20, 41}


def _cases() -> list[Case]:
    return [c for c in job_cases() if c.number not in OTHERWISE and c.id != "40.0"]


def _manifest(case: Case) -> dict[str, Any]:
    manifest = json.loads(case.body)
    metadata = manifest["metadata"]
    if metadata.get("name") == "ok":
        metadata["name"] = f"case-{case.number}-{case.variant}"
    metadata.setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "queue"
    metadata["namespace"] = "hard" if case.namespace_level else "team-a"
    return manifest


async def _is_suspended(it: World, name: str, told: tuple[str, str]) -> bool:
    """Does `kubectl get` say that the Job does not run, and its condition why?"""
    (job,) = [
        j for j in (await it.kube.list("batch/v1", "Job")).items if j["metadata"]["name"] == name
    ]
    status = job.get("status") or {}
    conditions = status.get("conditions") or ()
    return [(c["type"], c["status"], c["reason"], c["message"][:1000]) for c in conditions] == [
        ("Suspended", "True", told[0], told[1][:1000])
    ]


async def test_a_bad_job_is_refused_or_told_of(tmp_path: Path):
    """Each row of the list: an error for kubectl, or an Event with code and field; the others are taken."""
    taken: dict[str, Case] = {}
    async with world(tmp_path) as it:
        await it.apply(NAMESPACES)
        for case in _cases():
            manifest = _manifest(case)
            try:
                await it.kube.create(manifest, field_manager="kubectl-create")
            except errors.Invalid:
                assert case.status == 422, case.id
            else:
                taken[manifest["metadata"]["name"]] = case
        bad = {name: case for name, case in taken.items() if case.status == 422}
        assert {case.number for case in bad.values()} >= {*range(32, 40)}

        async def all_told() -> bool:
            return set(await warnings(it)) >= set(bad)

        await until(all_told, 30)
        told = await warnings(it)
        for name, case in bad.items():
            reason, message = told[name]
            assert reason == (case.code or reason), case.id
            assert message.startswith(("spec.", "metadata.")), case.id
        for name in bad:
            await until(partial(_is_suspended, it, name, told[name]), 10)
        good = {name for name, case in taken.items() if case.status == 201}
        assert good == {"case-42-0", "case-43-0", "case-44-0", "case-45-0"}
        assert not good & set(told)


async def test_a_job_in_a_clusters_own_namespace_is_refused(tmp_path: Path):
    """A queue name does not make kube-system a target: a Warning says so."""
    (valid,) = (case for case in job_cases() if case.id == "42.0")
    async with world(tmp_path) as it:
        manifest = _manifest(valid)
        manifest["metadata"]["namespace"] = "kube-system"
        await it.kube.create(manifest, field_manager="kubectl-create")

        async def told():
            return (await warnings(it)).get("case-42-0")

        reason, message = await until(told)
        assert (reason, message.partition(":")[0]) == ("NamespaceNotAllowed", "metadata.namespace")
        with pytest.raises(Rejected, match="kubectl describe job case-42-0 -n kube-system"):
            await it.hub.hub.read(jobs.find_job_by_name, "kube-system", "case-42-0")


@pytest.mark.parametrize("least", ["abc", "0", "2"])
async def test_a_least_parallelism_that_can_not_be_is_told_of(tmp_path: Path, least: str):
    """Kubernetes takes any annotation: an Event has the field and what is wrong with it."""
    (valid,) = (case for case in job_cases() if case.id == "42.0")
    async with world(tmp_path) as it:
        await it.apply(NAMESPACES)
        manifest = _manifest(valid)
        manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": least}
        await it.kube.create(manifest, field_manager="kubectl-create")

        async def told():
            return (await warnings(it)).get("case-42-0")

        reason, message = await until(told)
        assert reason == "InvalidAnnotation"
        assert message.startswith("metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: ")
