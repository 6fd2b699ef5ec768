"""kubectl as people use it."""

import json

import pytest

from tests.kubesim.server.build import a_config_map, a_deployment, a_job
from tests.kubesim.server.kube import eventually

pytestmark = pytest.mark.kubectl


def test_get_prints_a_table(kube):
    """`kubectl get jobs` has the columns of Jobs."""
    kube.create("jobs", a_job())
    eventually(lambda: "Suspended" in kube.kubectl("get", "jobs"), "the status")
    header, row = kube.kubectl("get", "jobs").splitlines()
    assert header.split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert row.split()[:3] == ["work", "Suspended", "0/1"]


def test_get_wide_prints_more(kube):
    """-o wide adds containers, images and selector."""
    kube.create("jobs", a_job())
    header = kube.kubectl("get", "jobs", "-o", "wide").splitlines()[0]
    assert header.split()[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]


def test_get_yaml_and_json(kube):
    """-o yaml and -o json show the object."""
    kube.create("configmaps", a_config_map())
    shown = json.loads(kube.kubectl("get", "cm", "settings", "-o", "json"))
    assert shown["data"] == {"colour": "blue"}
    assert "colour: blue" in kube.kubectl("get", "cm", "settings", "-o", "yaml")


def test_get_by_label_and_field(kube):
    """-l and --field-selector choose."""
    kube.create("configmaps", a_config_map("a", labels={"x": "1"}))
    kube.create("configmaps", a_config_map("b"))
    assert kube.kubectl("get", "cm", "-l", "x=1", "-o", "name").split() == ["configmap/a"]
    chosen = kube.kubectl("get", "cm", "--field-selector", "metadata.name=b", "-o", "name")
    assert chosen.split() == ["configmap/b"]


def test_apply_create_change_and_nothing(kube):
    """apply creates, configures, and leaves alone."""
    first = json.dumps(a_deployment())
    assert "created" in kube.kubectl("apply", "-f", "-", stdin=first)
    assert "unchanged" in kube.kubectl("apply", "-f", "-", stdin=first)
    second = json.dumps(a_deployment(image="nginx:2"))
    assert "configured" in kube.kubectl("apply", "-f", "-", stdin=second)
    live = kube.get("deployments", "web")
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"


def test_apply_removes_what_is_gone_from_the_file(kube):
    """A field that leaves the manifest leaves the object."""
    kube.kubectl("apply", "-f", "-", stdin=json.dumps(a_config_map(data={"a": "1", "b": "2"})))
    kube.kubectl("apply", "-f", "-", stdin=json.dumps(a_config_map(data={"a": "1"})))
    assert kube.get("configmaps", "settings")["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("create", "configmap", "made", "--from-literal=a=b"), "configmap/made"),
        (("create", "secret", "generic", "made", "--from-literal=a=b"), "secret/made"),
        (("create", "job", "made", "--image=busybox"), "job.batch/made"),
        (("create", "cronjob", "made", "--image=x", "--schedule=0 0 1 1 *"), "cronjob.batch/made"),
        (("create", "deployment", "made", "--image=x"), "deployment.apps/made"),
        (("create", "serviceaccount", "made"), "serviceaccount/made"),
        (("create", "service", "clusterip", "made", "--tcp=80"), "service/made"),
        (("create", "role", "made", "--verb=get", "--resource=pods"), "role.rbac"),
        (("create", "quota", "made", "--hard=cpu=1"), "resourcequota/made"),
    ],
)
def test_create_speaks_protobuf(kube, arguments, name):
    """kubectl create sends protocol buffers."""
    assert name in kube.kubectl(*arguments)


def test_label_annotate_and_patch(kube):
    """label, annotate and the three kinds of patch."""
    kube.create("configmaps", a_config_map())
    kube.kubectl("label", "cm", "settings", "a=b")
    kube.kubectl("annotate", "cm", "settings", "c=d")
    kube.kubectl("patch", "cm", "settings", "-p", '{"data": {"x": "1"}}')
    kube.kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"data": {"y": "2"}}')
    operations = '[{"op": "add", "path": "/data/z", "value": "3"}]'
    kube.kubectl("patch", "cm", "settings", "--type=json", "-p", operations)
    live = kube.get("configmaps", "settings")
    assert live["metadata"]["labels"] == {"a": "b"}
    assert live["metadata"]["annotations"] == {"c": "d"}
    assert live["data"] == {"colour": "blue", "x": "1", "y": "2", "z": "3"}


def test_scale_and_wait(kube):
    """scale changes replicas; wait sees a Job end."""
    kube.create("deployments", a_deployment())
    kube.kubectl("scale", "deployment", "web", "--replicas=1")
    assert kube.get("deployments", "web")["spec"]["replicas"] == 1
    kube.create("jobs", a_job(suspend=False))
    kube.kubectl("wait", "--for=condition=complete", "job/work", "--timeout=50s")


def test_delete_waits_for_the_end(kube):
    """delete returns when the object is gone, finalizers and all."""
    kube.create("jobs", a_job(suspend=False))
    kube.kubectl("delete", "job", "work")
    assert not kube.exists("jobs", "work")


def test_describe_tells_the_story(kube):
    """describe shows a Job with its events."""
    kube.create("jobs", a_job(suspend=False))
    eventually(lambda: "SuccessfulCreate" in kube.kubectl("describe", "job", "work"), "the event")


def test_explain_reads_the_schema(kube):
    """explain knows built-in fields."""
    assert "completions\t<integer>" in kube.kubectl("explain", "job.spec")


def test_api_resources_lists_kinds(kube):
    """api-resources finds Jobs in their group."""
    rows = kube.kubectl("api-resources", "--api-group=batch", "--no-headers").splitlines()
    assert ["jobs", "batch/v1", "true", "Job"] in [row.split() for row in rows]


@pytest.mark.parametrize(
    ("api_version", "kind"), [("batch/v1", "Batch"), ("nobody.example.com/v1", "Thing")]
)
def test_a_kind_that_is_not_served_is_named(kube, api_version, kind):
    """In a group that is known or not: kubectl says which kind in which version there is none of."""
    unserved = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}}
    refused = kube.run_kubectl("apply", "-f", "-", stdin=json.dumps(unserved))
    assert refused.returncode != 0
    assert f'no matches for kind "{kind}" in version "{api_version}"' in refused.stderr


def test_an_unknown_field_is_refused_by_name(kube):
    """apply validates strictly."""
    bad = json.dumps({**a_config_map(), "dat": {}})
    refused = kube.run_kubectl("apply", "-f", "-", stdin=bad)
    assert refused.returncode != 0
    assert 'unknown field "dat"' in refused.stderr


def test_diff_shows_what_would_change(kube):
    """diff uses a dry run on the server; exit code 1 says that there is a difference."""
    kube.kubectl("apply", "-f", "-", stdin=json.dumps(a_config_map(data={"a": "1"})))
    done = kube.run_kubectl("diff", "-f", "-", stdin=json.dumps(a_config_map(data={"a": "2"})))
    assert done.returncode == 1
    assert '+  a: "2"' in done.stdout


def test_replace_and_edit_in_place(kube):
    """replace puts a whole object."""
    kube.create("configmaps", a_config_map())
    kube.kubectl("replace", "-f", "-", stdin=json.dumps(a_config_map(data={"n": "1"})))
    assert kube.get("configmaps", "settings")["data"] == {"n": "1"}
