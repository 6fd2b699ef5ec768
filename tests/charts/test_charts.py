"""The charts: linted, rendered for each example, confined, and with the flags that hub and agent have."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.config import from_arguments
from agent.decide.member_policy import POWERS, TOKEN_SECRETS, MemberPolicy
from shared.podsecurity.baseline import CAPABILITIES, SYSCTLS
from tests.charts import helm
from tests.charts.examples import EXAMPLES
from tests.charts.flags import known_flags
from tests.charts.helm import AGENT, CHARTS, HUB, NAMES, HelmError, Release
from tests.charts.manifests import KINDS, MANIFESTS, kinds
from tests.charts.structure import FOREIGN, check
from tests.house.sources import REPOSITORY

every_chart = pytest.mark.parametrize("chart", NAMES)
every_example = pytest.mark.parametrize("release", EXAMPLES.values(), ids=EXAMPLES)
NEEDED = {HUB: [], AGENT: ["--set", "hub.url=https://roadstead.example.com"]}
URL = "https://roadstead.example.com"


def _pods(release: Release) -> Iterator[dict[str, Any]]:
    for each in helm.objects(release):
        if each["kind"] in {"Deployment", "StatefulSet", "Job"}:
            yield each["spec"]["template"]["spec"]


@every_chart
def test_a_chart_passes_the_linter(chart: str) -> None:
    """`helm lint --strict` has nothing to say."""
    helm.run("lint", "--strict", str(CHARTS / chart), *NEEDED[chart])


@every_chart
def test_a_chart_has_the_projects_version(chart: str) -> None:
    """Chart, application and project are released together, under one version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    about = yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (project, project)


@every_example
def test_every_name_is_the_releases_own(release: Release) -> None:
    """Each object has a name, its labels, and a namespace where its kind has one."""
    for each in helm.objects(release):
        if each["kind"] == "CustomResourceDefinition":
            continue
        where = each["metadata"]
        assert where["labels"]["app.kubernetes.io/instance"] == (release.name or release.chart)
        cluster_wide = "AdmissionPolicy" in each["kind"] or each["kind"].startswith("Cluster")
        if each["kind"] in {"Role", "RoleBinding"}:  # where the hub asks what becomes of a Job
            assert where["namespace"] in {"roadstead", "default", release.namespace}
            continue
        assert where.get("namespace") == (None if cluster_wide else release.namespace), where


@every_example
def test_pods_are_restricted(release: Release) -> None:
    """Pods meet the level restricted, have a read-only root, and say what they need."""
    for pod in _pods(release):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["enableServiceLinks"] is False
        for container in pod["containers"]:
            confined = container["securityContext"]
            assert confined["allowPrivilegeEscalation"] is False
            assert confined["readOnlyRootFilesystem"] is True
            assert confined["capabilities"] == {"drop": ["ALL"]}
            assert {"requests", "limits"} <= container["resources"].keys()
            if pod.get("restartPolicy") != "Never":
                assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()


@every_example
def test_life_is_another_question_than_readiness(release: Release) -> None:
    """A hub or agent whose database or hub is away gets no requests, and is not restarted for it."""
    for pod in _pods(release):
        (container,) = pod["containers"]
        asked = {
            name: container[name]["httpGet"]["path"]
            for name in ("startupProbe", "livenessProbe", "readinessProbe")
            if name in container
        }
        alive = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
        assert asked == (alive if pod.get("restartPolicy") != "Never" else {})


@every_example
def test_only_who_has_others_waits_before_it_ends(release: Release) -> None:
    """A hub beside others serves on until nobody is sent to it; one that is alone ends at once."""
    for each in helm.objects(release):
        if each["kind"] in {"Deployment", "StatefulSet"}:
            (container,) = each["spec"]["template"]["spec"]["containers"]
            assert ("lifecycle" in container) is (each["spec"]["replicas"] > 1)


@every_example
def test_every_mount_has_its_volume(release: Release) -> None:
    """What a container mounts is a volume of its pod or a claim, and no volume is left over."""
    for each in helm.objects(release):
        if each["kind"] not in {"Deployment", "StatefulSet"}:
            continue
        pod = each["spec"]["template"]["spec"]
        claims = [
            claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", ())
        ]
        mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted == {*claims, *(volume["name"] for volume in pod["volumes"])}


@every_example
def test_the_account_has_a_token_only_where_it_is_needed(release: Release) -> None:
    """A hub outside of its hub cluster has no token of the cluster that it runs in."""
    for pod in _pods(release):
        arguments = pod["containers"][0].get("args", ())
        in_cluster = release.chart == AGENT or "--hub-in-cluster" in arguments
        assert pod["automountServiceAccountToken"] is in_cluster
    rights = [each for each in helm.objects(release) if each["kind"].startswith("Cluster")]
    hub = release.values.get("hubCluster", {}).get("mode") == "inCluster"
    assert bool(rights) == (release.chart == AGENT or hub or "install" in release.values)


@every_example
def test_the_flags_are_those_of_the_program(release: Release) -> None:
    """What the pod passes is understood by `python -m hub` and `python -m agent`."""
    for pod in _pods(release):
        if "args" not in pod["containers"][0]:
            assert pod["containers"][0]["command"] == ["roadstead", "admin", "migrate"]
            continue
        arguments = pod["containers"][0]["args"]
        if release.chart == AGENT:
            from_arguments(arguments, {})
        else:
            assert {a.partition("=")[0] for a in arguments} <= known_flags("hub")


@pytest.mark.parametrize("path", MANIFESTS)
def test_the_plain_manifests_are_the_charts(path: str) -> None:
    """Each file below deploy/ is what the chart renders: `python -m tests.charts.manifests` writes it."""
    assert (REPOSITORY / "deploy" / path).read_text() == MANIFESTS[path].text


def test_no_plain_manifest_is_forgotten() -> None:
    """Every manifest in the folders of the hub, its hub cluster and the members is rendered."""
    found = {
        str(file.relative_to(REPOSITORY / "deploy"))
        for folder in ("hub", "hub-cluster", "member")
        for file in (REPOSITORY / "deploy" / folder).glob("*.yaml")
    }
    assert found == MANIFESTS.keys()


REFUSED = [
    (HUB, {"replicas": 2}, "replicas: more than one hub needs PostgreSQL"),
    (HUB, {"replicas": 0}, "minimum: got 0, want 1"),
    (HUB, {"replica": 2}, "additional properties 'replica' not allowed"),
    (HUB, {"database": {"secret": {"name": "d"}}}, "adminToken.secret.name: hubs on PostgreSQL"),
    (HUB, {"hubCluster": {"mode": "kubeconfig"}}, "mode kubeconfig needs the Secret"),
    (HUB, {"hubCluster": {"mode": "own"}}, "must be one of 'none', 'inCluster', 'kubeconfig'"),
    (HUB, {"tls": {"certificate": {"create": True}}}, "tls.secret: say into which Secret"),
    (
        HUB,
        {"tls": {"secret": "t", "certificate": {"create": True}}},
        "tls.certificate.issuer.name: say which issuer",
    ),
    (HUB, {"tls": {"clientCA": {"secret": "c"}}}, "certificates of clients need tls.secret"),
    (HUB, {"ingress": {"enabled": True}}, "ingress.host: an Ingress for every host"),
    (
        HUB,
        {"serviceMonitor": {"enabled": True}},
        "roadstead tokens issue prometheus --role viewer",
    ),
    (HUB, {"settings": {"PATH": "/"}}, "additional properties 'PATH' not allowed"),
    (HUB, {"image": {"digest": "latest"}}, "'latest' does not match pattern"),
    (AGENT, {}, "hub.url: say where the hub is"),
    (AGENT, {"hub": {"url": "roadstead.example.com"}}, "does not match pattern"),
    (AGENT, {"hub": {"url": "http://hub"}}, "the credential would be sent in clear"),
    (AGENT, {"hub": {"url": URL, "caPins": ["abc"]}}, "'abc' does not match pattern"),
    (
        AGENT,
        {"hub": {"url": URL, "caPins": ["a" * 43], "ca": {"secret": "a"}}},
        "pins of the CA or the CA itself",
    ),
    (
        AGENT,
        {"hub": {"url": "http://hub", "plainHTTP": True, "ca": {"secret": "a"}}},
        "CA, pins and certificates are for https",
    ),
    (
        AGENT,
        {"hub": {"url": URL, "ca": {"secret": "a", "configMap": "b"}}},
        "a ConfigMap or a Secret, not both",
    ),
    (
        AGENT,
        {"hub": {"url": URL}, "policy": {"namespaces": "team-[ab]"}},
        "does not match pattern",
    ),
    (AGENT, {"hub": {"url": URL}, "profile": "all"}, "must be one of 'jobs', 'objects'"),
    (AGENT, {"hub": {"url": URL}, "replicas": 2}, "additional properties 'replicas' not allowed"),
]


@pytest.mark.parametrize(("chart", "values", "says"), REFUSED, ids=lambda each: str(each)[:40])
def test_wrong_values_are_refused_in_a_sentence(chart: str, values: Any, says: str) -> None:
    """What makes no sense is refused before anything is installed, and the text names the value."""
    with pytest.raises(HelmError, match=says.replace("(", r"\(")):
        helm.template(Release(chart, values))


@every_chart
def test_the_schema_is_closed_and_complete(chart: str) -> None:
    """Every value has its type in the schema, the schema has no other, and nothing unknown gets in."""
    schema = json.loads((CHARTS / chart / "values.schema.json").read_text())
    schema["properties"].pop("global")
    _compare(schema, helm.defaults(chart), chart)


def _compare(schema: Any, values: Any, path: str) -> None:
    if "properties" not in schema:
        return
    assert schema["additionalProperties"] is False, path
    absent = {"claims"} if path.endswith(".resources") else set()
    assert schema["properties"].keys() - absent == values.keys(), path
    for name, value in values.items():
        _compare(schema["properties"][name], value, f"{path}.{name}")


def test_the_agents_chart_brings_the_kinds_of_queues() -> None:
    """Where it is asked to, all of Kueue's as they are published; they stay when it is uninstalled."""
    assert {path.name: path.read_text() for path in KINDS.iterdir()} == kinds()
    values = {"hub": {"url": "https://roadstead.example.com"}, "kinds": {"install": True}}
    brought = [
        each
        for each in helm.objects(Release(AGENT, values))
        if each["kind"] == "CustomResourceDefinition"
    ]
    assert len(brought) == len(kinds()) > 0
    kept = {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in brought}
    assert kept == {"keep"}


def test_a_budget_is_only_where_there_is_another_replica() -> None:
    """One hub has no PodDisruptionBudget: it would only hold up drains."""
    found = {name: {o["kind"] for o in helm.objects(r)} for name, r in EXAMPLES.items()}
    assert {name for name, of in found.items() if "PodDisruptionBudget" in of} == {
        "hub: PostgreSQL",
        "hub: everything",
    }


def test_the_hub_is_a_deployment_on_postgresql_and_a_statefulset_on_sqlite() -> None:
    """Where the database is a file, there is one pod with a volume; else the pods keep nothing."""
    found = {name: {o["kind"] for o in helm.objects(r)} for name, r in EXAMPLES.items()}
    assert "StatefulSet" in found["hub: defaults"]
    assert "Deployment" not in found["hub: defaults"]
    assert "Deployment" in found["hub: PostgreSQL"]
    assert not {"Deployment", "StatefulSet"} & found["hub: only the rights"]


def test_the_schema_is_migrated_before_the_hubs_are_replaced() -> None:
    """With PostgreSQL a hook does it, and hubs refuse an older schema; else each hub does it itself."""
    database = {"secret": {"name": "database"}}
    values = {"database": database, "adminToken": {"secret": {"name": "admin-token"}}}
    for given, hooked in (
        ({**values}, True),
        ({**values, "database": {**database, "migration": "start"}}, False),
        ({}, False),
    ):
        found = {each["kind"]: each for each in helm.objects(Release(HUB, given))}
        hub = found.get("Deployment") or found["StatefulSet"]
        arguments = hub["spec"]["template"]["spec"]["containers"][0]["args"]
        assert ("--no-migrate" in arguments) is hooked
        assert ("Job" in found) is hooked
        if hooked:
            hooks = found["Job"]["metadata"]["annotations"]["helm.sh/hook"]
            assert hooks == "pre-install,pre-upgrade"


@every_example
def test_the_policy_of_the_network_names_every_port(release: Release) -> None:
    """Hub and agent are reached on their own port alone, and reach names, and what they are told to."""
    policies = [each for each in helm.objects(release) if each["kind"] == "NetworkPolicy"]
    assert len(policies) == (0 if "install" in release.values else 1)
    for policy in policies:
        (pod,) = (pod for pod in _pods(release) if "ports" in pod["containers"][0])
        opened = {port["containerPort"] for port in pod["containers"][0]["ports"]}
        assert {
            port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]
        } == opened
        assert all(rule.get("ports") for rule in policy["spec"]["egress"])
        names = {(port["port"], port["protocol"]) for port in policy["spec"]["egress"][0]["ports"]}
        assert names == {(53, "UDP"), (53, "TCP")}  # what is longer than a datagram comes by TCP
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_the_notes_say_what_to_do_next(tmp_path: Path) -> None:
    """After an installation Helm prints the next three commands, and warns of a hub without TLS."""
    text = helm.notes(EXAMPLES["hub: defaults"], tmp_path)
    assert text.count("\n  ") >= 3
    assert "roadstead clusters add NAME > join.token" in text
    assert "Nothing encrypts" in text
    assert "Nothing encrypts" not in helm.notes(EXAMPLES["hub: everything"], tmp_path)


def test_kinds_of_others_are_as_they_publish_them() -> None:
    """Monitors and certificates have the fields of their own APIs; each kind is in an example."""
    foreign = [o for r in EXAMPLES.values() for o in helm.objects(r) if o["kind"] in FOREIGN]
    assert {each["kind"] for each in foreign} == FOREIGN
    for each in foreign:
        check(each)
    with pytest.raises(ValueError, match="endpoint"):
        check({**foreign[0], "spec": {**foreign[0]["spec"], "endpoint": []}})


def test_the_second_gate_knows_the_agents_defaults() -> None:
    """Left empty or written out, the rules of the policy are those that the agent has by itself."""
    policy = MemberPolicy()
    written = {
        "kinds": policy.kinds,
        "podSecurity": policy.rules.level,
        "podSecurityLevels": policy.rules.levels,
        "namespaces": policy.rules.namespaces,
        "deniedNamespaces": policy.rules.denied_namespaces,
        "acceptedNamespaces": policy.accepted,
        "consent": policy.consent,
        "serviceAccounts": policy.rules.service_accounts,
        "schedulers": policy.rules.schedulers,
        "priorityClasses": policy.rules.priority_classes,
        "tokenAudiences": policy.rules.token_audiences,
        "fields": policy.rules.fields,
    }
    assert written.keys() == helm.defaults(AGENT)["policy"].keys()
    values, only = {"hub": {"url": URL}, "profile": "objects"}, ["admission-policy.yaml"]
    empty = helm.template(Release(AGENT, values), only=only)
    assert helm.template(Release(AGENT, {**values, "policy": written}), only=only) == empty
    quoted = {f"'{name}'" for name in CAPABILITIES | SYSCTLS}
    assert all(text in empty for text in POWERS | TOKEN_SECRETS | quoted)


def test_no_right_is_given_on_what_no_policy_judges() -> None:
    """Kubernetes has policies and reviews judged by none: the chart grants nothing on them."""
    groups = {
        group
        for release in EXAMPLES.values()
        if release.chart == AGENT
        for each in helm.objects(release)
        if each["kind"] == "ClusterRole"
        for rule in each["rules"] or ()
        for group in rule["apiGroups"]
    }
    assert not groups & (POWERS | {"*"})


def test_the_second_gate_can_be_left_out() -> None:
    """On a cluster without admission policies, or with others."""
    values = {"hub": {"url": URL}, "admissionPolicy": {"enabled": False}}
    kinds = {each["kind"] for each in helm.objects(Release(AGENT, values))}
    assert not any("AdmissionPolicy" in kind for kind in kinds)
