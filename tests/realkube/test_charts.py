"""The charts on real control planes: what they render is accepted, and its rights are enough and needed.

Hub and agents run as processes with exactly what their pods have (installed.py). Each API server writes
down what they ask for, and nothing may be answered 403.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.objects.holds import BUILT_IN
from roadstead import Client
from tests.certificates import CA
from tests.charts import helm
from tests.charts.examples import EXAMPLES
from tests.charts.helm import AGENT, Release
from tests.charts.structure import FOREIGN, check
from tests.e2e.running import REPOSITORY, until
from tests.realkube import audit, build, guide
from tests.realkube.chart_fleet import fleet_from_charts, refused
from tests.realkube.installed import Installed
from tests.realkube.plane import Fleet, Plane

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]
OBJECTS = {"profile": "objects", "kinds": {"install": True}}
# What the guide gives no occasion for. The API server itself asks for the last when a Workload is made.
SELDOM = {
    ("roadstead-agent-jobs", "create", "namespaces"),
    ("roadstead-agent-jobs", "delete", "batch/jobs"),
    ("roadstead-agent-jobs", "get", "batch/jobs"),
    ("roadstead-hub-itself", "create", "namespaces"),
    ("roadstead-hub-itself", "update", "apiextensions.k8s.io/customresourcedefinitions"),
    ("roadstead-hub-itself", "update", "batch/jobs/finalizers"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_rendered_is_accepted(real_control_plane: Plane, name: str) -> None:
    """A real API server takes every object, down to each field, and admits the pods as restricted."""
    release = replace(EXAMPLES[name], kubernetes="{}.{}".format(*build.version()))
    kubectl = real_control_plane.kubectl
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": release.namespace,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    strictly = ("--dry-run=server", "--validate=strict", "-f", "-")
    objects = helm.objects(release)
    for each in objects:
        if each["kind"] in FOREIGN:
            check(each)
    own = [each for each in objects if each["kind"] not in FOREIGN]
    kubectl("apply", *strictly, stdin=_listed(own))
    workloads = [each for each in own if each["kind"] in {"Deployment", "StatefulSet"}]
    if workloads:
        kubectl("create", *strictly, stdin=_listed([_pod_of(each) for each in workloads]))


def _listed(items: list[Any]) -> str:
    """One kubectl asks about all of them, each by itself."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _pod_of(workload: Any) -> dict[str, Any]:
    """The pod of a workload by itself, so that admission judges it; claims are empty folders."""
    pod = workload["spec"]["template"]["spec"]
    claims = workload["spec"].get("volumeClaimTemplates", ())
    volumes = [{"name": each["metadata"]["name"], "emptyDir": {}} for each in claims]
    spec = {**pod, "serviceAccountName": "default", "volumes": [*pod["volumes"], *volumes]}
    metadata = {"name": "by-itself", "namespace": workload["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_release_comes_changes_and_goes(real_control_plane: Plane) -> None:
    """Helm installs, changes and uninstalls it: rights that are not wanted any more go."""
    plane = real_control_plane
    values = {"hub": {"url": "https://192.0.2.1"}}
    said = helm.install(
        Release(AGENT, {**values, "profile": "objects"}, "third"), plane.kubeconfig
    )
    assert "roadstead clusters add NAME > join.token" in said
    assert {"third", "third-jobs", "third-objects"} <= _named(plane, "clusterroles")
    helm.install(Release(AGENT, values, "third"), plane.kubeconfig)
    assert "third-objects" not in _named(plane, "clusterroles")
    helm.uninstall(Release(AGENT, values, "third"), plane.kubeconfig)
    left = {name for name in _named(plane, "clusterroles") if name.startswith("third")}
    assert left == set()


def _named(plane: Plane, plural: str) -> set[str]:
    return set(plane.kubectl("get", plural, "-o", "jsonpath={.items[*].metadata.name}").split())


PLURALS = frozenset(f"{kind.lower()}s" for _, kind in BUILT_IN)


def unused(installed: list[Installed]) -> set[tuple[str, str, str]]:
    """What their own roles grant and nobody has asked for: role, verb, resource; wildcards are left out.

    So are kinds besides Job that run as jobs: no cluster of this fleet serves one (test_jobset.py).
    """
    asked = {what[1:3] for each in installed for what in audit.asked(each.plane.directory)}
    return {
        (role["metadata"]["name"], verb, resource)
        for each in installed
        for role in helm.objects(each.release)
        if role["metadata"]["name"] in {"roadstead-hub-itself", "roadstead-agent-jobs"}
        for rule in role["rules"]
        for verb in rule["verbs"]
        for resource in (
            "/".join(filter(None, (group, name)))
            for group in rule["apiGroups"]
            for name in rule["resources"]
        )
        if "*" not in resource
        and (verb, resource) not in asked
        and not PLURALS & set(resource.split("/"))
    }


def test_the_guide_runs_with_the_charts_rights(real_fleet: Any, tmp_path: Path) -> None:
    """It ends as described by the rights of the charts and nearly all of them; one taken away is missed."""
    planes = real_fleet(guide.MEMBERS, audited=True)
    with fleet_from_charts(planes, tmp_path, OBJECTS) as (client, installed):
        guide.typed(planes.hub, tmp_path)
        guide.ends_as_described(planes.hub, client)
        for plane in planes.members.values():
            until(partial(_has_queue, plane), 60, "the queue is placed")
        assert refused(installed) == []
        assert {who for each in installed for who, *_ in audit.asked(each.plane.directory)} == {
            "hub",
            "agent",
        }
        assert unused(installed) <= SELDOM
        _without_a_rule(planes, client, installed)
    helm.uninstall(installed[1].release, installed[1].plane.kubeconfig)
    assert "localqueue.kueue.x-k8s.io" in installed[1].plane.kubectl(
        "get", "localqueues", "-A", "-o", "name"
    )


def _has_queue(plane: Plane) -> bool:
    return bool(plane.find("clusterqueues.v1beta2.kueue.x-k8s.io", "cluster-queue"))


def _without_a_rule(planes: Fleet, client: Client, installed: list[Installed]) -> None:
    """The check itself is checked: agents may create no Jobs any more, and that is seen."""
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "create"]}
        for each in helm.objects(installed[1].release)
        if each["metadata"]["name"] == "roadstead-agent-jobs"
        for rule in each["rules"]
    ]
    for plane in planes.members.values():
        change = json.dumps([{"op": "replace", "path": "/rules", "value": rules}])
        plane.kubectl("patch", "clusterrole", "roadstead-agent-jobs", "--type=json", "-p", change)
    client.apply((REPOSITORY / "examples" / "hello.yaml").read_text())
    until(lambda: refused(installed), 60, "what is refused is seen")
    assert {what[1:] for what in refused(installed)} == {("agent", "create", "batch/jobs")}


@pytest.mark.soak
def test_a_member_for_jobs_alone_needs_no_more(real_fleet: Any, tmp_path: Path) -> None:
    """With the profile `jobs` a Job ends, and nothing is asked for that the rights do not give.

    Nor by the hub, which shows the Job that came by REST, and its member, to whoever uses kubectl. They
    speak TLS, from Secrets as cert-manager writes them: an agent knows its hub
    by the join token alone. On each change the page of how to install (test_install.py) does the same
    behind an ingress; tests/agent/test_tls_join.py and tests/api/test_client_certificates.py have the
    certificates.
    """
    planes = real_fleet(guide.MEMBERS[:1], audited=True)
    with fleet_from_charts(planes, tmp_path, ca=CA()) as (client, installed):
        assert client.server.startswith("https://")
        client.apply((REPOSITORY / "examples" / "hello.yaml").read_text())
        until(lambda: [j.state for j in client.jobs()] == ["Succeeded"], 120, "it succeeded")
        until(lambda: "Complete" in planes.hub.kubectl("get", "jobs", "-A"), 60, "it is shown")
        shown = planes.hub.kubectl("get", "memberclusters", "-l", "roadstead.dev/origin=rest")
        assert "cluster-1" in shown
        assert refused(installed) == []
