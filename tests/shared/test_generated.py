"""The hub (at intake) and the agent (at creation) strip the Job controller's keys from pod templates."""

import datetime as dt
from typing import Any

import pytest

from agent.objects.manifests import unstarted
from hub.services.reading.draft import draft
from shared.generated import clean_template, without_generated
from shared.kinds.registry import parse, parse_job
from tests.attack.hostile import harmless_job
from tests.attack.works import work_of

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
GENERATED = {
    "controller-uid": "u-of-another",
    "job-name": "another",
    "batch.kubernetes.io/controller-uid": "u-of-another",
    "batch.kubernetes.io/job-name": "another",
    "batch.kubernetes.io/job-completion-index": "0",
}


def another_jobs_copy() -> dict[str, Any]:
    """A Job whose pods claim to be another Job's, with one label and one annotation of its own."""
    job = harmless_job()
    job["spec"]["template"]["metadata"] = {
        "labels": {"app": "mine", **GENERATED},
        "annotations": {"note": "mine", "batch.kubernetes.io/job-index-failure-count": "1"},
    }
    return job


OWN = {"labels": {"app": "mine"}, "annotations": {"note": "mine"}}


def test_a_job_of_rest_is_stored_without_them():
    """What the hub keeps and shows has a user's own keys alone."""
    kept = draft(parse_job(another_jobs_copy()), NOW).manifest
    assert kept["spec"]["template"]["metadata"] == OWN


def test_a_job_of_the_hub_cluster_is_stored_as_its_api_server_has_it():
    """Its hash stays that of earlier releases: nothing changes by the upgrade."""
    parsed = parse(another_jobs_copy(), strict=False, origin="hub-cluster")
    kept = draft(parsed, NOW, origin="hub-cluster").manifest
    assert kept["spec"] == another_jobs_copy()["spec"]


def test_the_agent_creates_a_job_without_them():
    """Whatever a hub sends."""
    created = unstarted(work_of(another_jobs_copy(), "u"), "h")
    assert created["spec"]["template"]["metadata"] == OWN


@pytest.mark.parametrize(
    "spec",
    [{}, {"template": None}, {"template": {"metadata": []}}, {"template": {"metadata": OWN}}],
)
def test_a_spec_without_them_is_not_copied(spec: dict[str, Any]):
    """It is the object that was passed in."""
    assert clean_template(spec) is spec


def test_the_metadata_passed_in_stays_as_it_is():
    """A copy is returned."""
    given = {"labels": dict(GENERATED)}
    assert without_generated(given) == {"labels": {}}
    assert given == {"labels": GENERATED}
