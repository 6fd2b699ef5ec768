"""A namespace of the hub cluster that is made again does not meet what the one before left in members."""

from typing import Any

import pytest

from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: left, namespace: lab}
stringData: {password: of-the-tenant-before}
"""


def kubectl(fleet: RunningFleet, *what: str, cluster: str = "hub", given: str = "") -> str:
    done = fleet.kubectl(*what, cluster=cluster, stdin=given or None)
    assert done.returncode == 0, done.stderr
    return done.stdout


def space(fleet: RunningFleet) -> dict[str, Any]:
    """The member's namespace, {} where there is none."""
    return fleet.find("namespaces.v1", "lab", cluster="m1")


def remade(fleet: RunningFleet) -> None:
    """An administrator deletes the Namespace on the hub cluster, and makes it again for others."""
    kubectl(fleet, "delete", "namespace", "lab", "--wait=true")
    kubectl(fleet, "create", "namespace", "lab")


def test_jobs_of_a_namespace_that_was_made_again_keep_out_of_the_earlier_one(tmp_path):
    """An empty one is deleted and made anew by itself; one that holds a Secret waits for its people."""
    with running_fleet(tmp_path, equal_members(1), packed=True) as fleet, fleet.client() as hub:
        kubectl(fleet, "create", "namespace", "lab")
        first = hub.submit(a_job("first", namespace="lab"))
        assert hub.wait(first.uid, timeout_s=60).state == "Succeeded"
        hub.delete_job(first.uid)
        before = space(fleet)["metadata"]
        # Nothing is left in it: nobody is needed.
        remade(fleet)
        second = hub.submit(a_job("second", namespace="lab"))
        assert hub.wait(second.uid, timeout_s=120).state == "Succeeded"
        hub.delete_job(second.uid)
        made = space(fleet)["metadata"]
        ids = {each["annotations"]["roadstead.dev/namespace-id"] for each in (before, made)}
        assert made["uid"] != before["uid"]
        assert len(ids) == 2
        # People, or a Job, leave a Secret there: the next tenant of the name does not reach it.
        kubectl(fleet, "apply", "-f", "-", cluster="m1", given=SECRET)
        remade(fleet)
        third = hub.submit(a_job("third", namespace="lab"))

        def waits() -> bool:
            said = hub.job(third.uid)
            return said.state == "Pending" and "an earlier namespace lab" in (said.message or "")

        until(waits, 60, "it waits and says why")

        def shown() -> list[tuple[str, str]]:
            listed = hub.cluster_namespaces("m1")
            return [(each.state, each.command) for each in listed if each.name == "lab"]

        until(lambda: [state for state, _ in shown()] == ["Replaced"], 10, "the agent reports it")
        # Its people accept what is there.
        ((_, command),) = shown()
        kubectl(fleet, *command.split()[1:], cluster="m1")
        assert hub.wait(third.uid, timeout_s=60).state == "Succeeded"
