"""What outlasts a restart, an orderly one and a kill -9."""

import json

import httpx
import pytest

from tests.kubesim.server.build import a_config_map, a_crd, a_job
from tests.kubesim.server.kube import eventually

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(run, tmp_path):
    return run(f"--data={tmp_path / 'data'}")


def test_an_orderly_end_is_clean(kept):
    """SIGTERM ends with exit code 0."""
    assert kept.stop() == 0


def test_objects_keep_uid_and_version(kept):
    """After a restart an object is the same object, in the same version."""
    made = kept.kube().create("configmaps", a_config_map())
    kept.stop()
    kept.start()
    assert kept.kube().get("configmaps", "settings") == made


def test_the_kubeconfig_goes_on_working(kept):
    """Address, CA and token survive: clients need not be told anything."""
    before = kept.kubeconfig.read_text()
    kept.kill()
    kept.start()
    assert kept.kubeconfig.read_text() == before


def test_the_cluster_keeps_its_identity(kept):
    """The uid of kube-system survives."""
    uid = kept.kube().get("namespaces", "kube-system")["metadata"]["uid"]
    kept.kill()
    kept.start()
    assert kept.kube().get("namespaces", "kube-system")["metadata"]["uid"] == uid


def test_deleted_objects_stay_deleted(kept):
    """A deletion is kept as well."""
    kept.kube().create("configmaps", a_config_map())
    kept.kube().delete("configmaps", "settings")
    kept.kill()
    kept.start()
    assert not kept.kube().exists("configmaps", "settings")


def test_versions_never_go_back(kept):
    """New versions continue after the old ones, deletions included."""
    kube = kept.kube()
    kube.create("configmaps", a_config_map())
    kube.delete("configmaps", "settings")
    last = int(kube.create("configmaps", a_config_map("b"))["metadata"]["resourceVersion"])
    kube.delete("configmaps", "b")
    kept.kill()
    kept.start()
    made = kept.kube().create("configmaps", a_config_map("c"))
    assert int(made["metadata"]["resourceVersion"]) > last + 1


def test_a_watch_resumes_over_a_restart(kept):
    """A watch from a version before the restart shows everything since."""
    kube = kept.kube()
    start = kube.http.get(kube.url("configmaps")).json()["metadata"]["resourceVersion"]
    kube.create("configmaps", a_config_map("one"))
    kube.patch("configmaps", "one", {"data": {"x": "1"}})
    kube.delete("configmaps", "one")
    kept.kill()
    kept.start()
    events = list(kept.kube().watch("configmaps", resourceVersion=start, timeoutSeconds=1))
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]


def test_definitions_are_served_again(kept):
    """CRDs and their objects survive, validation too."""
    kube = kept.kube()
    kube.create("customresourcedefinitions", a_crd("widgets", "kept.example.com"))
    resource = "kept.example.com/v1/widgets"
    widget = {"metadata": {"name": "one"}, "spec": {"size": 3}}
    kube.create(resource, widget)
    kept.kill()
    kept.start()
    kube = kept.kube()
    assert kube.get(resource, "one")["spec"]["size"] == 3
    kube.refused(resource, {"metadata": {"name": "two"}, "spec": {"size": 99}}, 422)


def test_terminating_namespaces_go_on_terminating(kept):
    """What was under way at the crash is finished afterwards."""
    kube = kept.kube()
    kube.http.post("/api/v1/namespaces", json={"metadata": {"name": "dying"}})
    held = a_config_map("held", finalizers=["example.com/hold"])
    kube.http.post("/api/v1/namespaces/dying/configmaps", json=held)
    kube.http.delete("/api/v1/namespaces/dying")
    kept.kill()
    kept.start()
    kube = kept.kube("dying")
    kube.patch("configmaps", "held", {"metadata": {"finalizers": None}})
    eventually(lambda: not kube.exists("namespaces", "dying"), "the namespace's end")


def test_no_acknowledged_write_is_lost(kept):
    """kill -9 in the middle of a burst: every create that was answered is there afterwards."""
    acknowledged = []
    kube = kept.kube()
    for number in range(400):
        if number == 300:
            kept.kill()
        try:
            reply = kube.http.post(kube.url("jobs"), json=a_job(f"job-{number}"))
        except httpx.TransportError:
            break
        acknowledged.append(reply.json()["metadata"]["uid"])
    kept.start()
    kube = kept.kube()
    kept_uids = {job["metadata"]["uid"] for job in kube.items("jobs")}
    assert len(acknowledged) == 300
    assert set(acknowledged) <= kept_uids


def test_no_watcher_saw_a_write_that_vanished(kept):
    """What a watch showed before a kill -9 is there afterwards."""
    kube = kept.kube()
    seen = []
    url = kube.url("configmaps", watch="true", labelSelector="burst")
    with kube.http.stream("GET", url) as reply:
        writer = kept.kube()
        for number in range(50):
            writer.create("configmaps", a_config_map(f"c{number}", labels={"burst": "yes"}))
        lines = reply.iter_lines()
        kept_until = 20
        seen = [json.loads(next(lines))["object"]["metadata"]["uid"] for _ in range(kept_until)]
        kept.kill()
    kept.start()
    uids = {item["metadata"]["uid"] for item in kept.kube().items("configmaps")}
    assert set(seen) <= uids
