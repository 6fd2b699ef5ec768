"""A member is drained while a job runs there: it starts elsewhere, once the first is gone."""

import json

import pytest

from tests.e2e.recorder import Recorder
from tests.e2e.running import equal_members, running_fleet, until
from tests.e2e.upgrading import all_are, started, submit

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]
LONG_S = 600


def test_a_job_leaves_a_drained_member_and_runs_in_one_place(tmp_path):
    """What would leave is shown first; the new Job is made when nothing of the old one is left."""
    with running_fleet(tmp_path, equal_members(2), packed=True) as fleet:
        members = {name: fleet.kubeconfig(name) for name in ("m1", "m2")}
        with Recorder(members, "team-a") as seen:
            submit(fleet, ["long"], LONG_S)
            all_are(fleet, ["long"], "Running")
            ((first, _, _),) = started(fleet)["long"]
            (other,) = {"m1", "m2"} - {first}
            shown = fleet.cli("clusters", "drain", first, "--dry-run", "-o", "json")
            assert [each["name"] for each in json.loads(shown.stdout)["jobs"]] == ["long"]
            drained = fleet.cli("clusters", "drain", first)
            assert drained.returncode == 0, drained.stderr
            until(
                lambda: [each[0] for each in started(fleet).get("long", ())] == [other],
                60,
                "it is where it may be, and nowhere else",
            )
            all_are(fleet, ["long"], "Running")
        assert len(seen.jobs["long"].uids) == 2
        said = fleet.cli("explain", "team-a/long").stdout
        assert "ClusterDrained" in said or other in said
