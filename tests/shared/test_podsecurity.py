"""Pod Security Standards and what pods may ask for: one row per rule, pods as plain JSON."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from shared import podsecurity
from shared.podsecurity import Rules, pods
from shared.podsecurity.baseline import CAPABILITIES, SYSCTLS

HARD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def a_container(**more):
    return {"name": "main", "image": "busybox:1.36", **more}


def secured(**context):
    """A pod whose one container has this security context."""
    return {"containers": [a_container(securityContext=context)]}


def a_pod(**more):
    return {"containers": [a_container()], **more}


def a_job(spec, annotations=None):
    template = {"spec": {"restartPolicy": "Never", **spec}}
    if annotations:
        template["metadata"] = {"annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


def found(spec, level="baseline", *, rules=None, annotations=None):
    """(field below the pod's spec, code or the rule) of every violation."""
    job = a_job(spec, annotations)
    return [
        (
            each.field.removeprefix("spec.template.spec."),
            each.message.partition(":")[0] if each.code == pods.VIOLATION else each.code,
        )
        for each in podsecurity.check_pods(job, "team", level, rules or Rules())
    ]


TABLE = yaml.safe_load((Path(__file__).parent / "pod-security.yaml").read_text())
CONTEXT = "containers[0].securityContext"
_LONG = {"context": CONTEXT, "container": "containers[0]"}


def _rows(name):
    return [pytest.param(row, id=f"{row['rule']}-{row['field']}") for row in TABLE[name]]


def _field(row):
    first, dot, rest = row["field"].partition(".")
    return _LONG.get(first, first) + dot + rest


def _pod(short):
    """The pod that a row of the table stands for."""
    if "context" in short:
        return secured(**short["context"])
    return (
        a_pod(containers=[a_container(**short["container"])])
        if "container" in short
        else a_pod(**short)
    )


@pytest.mark.parametrize("row", _rows("baseline"))
def test_what_baseline_forbids_is_named_with_its_field(row):
    """Each control of the baseline standard is found, at baseline and at restricted alike."""
    wanted = (_field(row), f"baseline/{row['rule']}")
    assert wanted in found(_pod(row["pod"]))
    assert wanted in found(_pod(row["pod"]), "restricted")


@pytest.mark.parametrize("row", _rows("baseline"))
def test_a_privileged_namespace_takes_it(row):
    """The privileged level forbids nothing of the standards."""
    assert found(_pod(row["pod"]), "privileged") == []


@pytest.mark.parametrize("kind", ["initContainers", "ephemeralContainers"])
def test_every_kind_of_container_is_looked_at(kind):
    """Init and ephemeral containers are held to the same rules."""
    bad = a_container(name="i", securityContext={"privileged": True})
    field = f"{kind}[0].securityContext.privileged"
    assert found(a_pod(**{kind: [bad]})) == [(field, "baseline/privileged")]


@pytest.mark.parametrize("pod", TABLE["allowed"], ids=str)
def test_what_baseline_allows_is_taken(pod):
    """Values that the baseline standard lists as allowed are no violation."""
    assert found(_pod(pod)) == []


def test_every_listed_capability_and_sysctl_is_taken():
    """The standard's own lists of capabilities and safe sysctls."""
    assert found(secured(capabilities={"add": sorted(CAPABILITIES)})) == []
    safe = [{"name": name, "value": "1"} for name in sorted(SYSCTLS)]
    assert found(a_pod(securityContext={"sysctls": safe})) == []


@pytest.mark.parametrize(
    ("value", "fine"), [("runtime/default", True), ("localhost/p", True), ("unconfined", False)]
)
def test_apparmor_by_annotation_counts_too(value, fine):
    """The older annotation of a pod template is held to the same values."""
    key = "container.apparmor.security.beta.kubernetes.io/main"
    assert (found(a_pod(), annotations={key: value}) == []) is fine


def test_a_hardened_pod_is_restricted():
    """What the restricted standard asks for, said by each container, is taken."""
    assert found(secured(**HARD), "restricted") == []


def test_the_pod_may_say_it_for_its_containers():
    """runAsNonRoot and seccomp may be said once, for the whole pod."""
    rest = {k: HARD[k] for k in ("allowPrivilegeEscalation", "capabilities")}
    said = {k: HARD[k] for k in ("runAsNonRoot", "seccompProfile")}
    assert found({**secured(**rest), "securityContext": said}, "restricted") == []


RESTRICTED = [
    ("allowPrivilegeEscalation", None, "privilegeEscalation", ""),
    ("allowPrivilegeEscalation", True, "privilegeEscalation", ""),
    ("runAsNonRoot", None, "runAsNonRoot", ""),
    ("runAsNonRoot", False, "runAsNonRoot", ""),
    ("runAsUser", 0, "runAsUser", ""),
    ("seccompProfile", None, "seccomp", ".type"),
    ("capabilities", {"drop": ["CHOWN"]}, "capabilities", ".drop"),
    ("capabilities", {"drop": ["ALL"], "add": ["CHOWN"]}, "capabilities", ".add[0]"),
]


@pytest.mark.parametrize(("name", "value", "rule", "below"), RESTRICTED)
def test_what_restricted_asks_is_named_with_its_field(name, value, rule, below):
    """Each further control of the restricted standard is found, and only at that level."""
    pod = secured(**{**HARD, name: value})
    assert found(pod, "restricted") == [(f"{CONTEXT}.{name}{below}", f"restricted/{rule}")]
    assert found(pod) == []


@pytest.mark.parametrize("kind", ["nfs", "iscsi", "image", "somethingNew"])
def test_restricted_takes_listed_volumes_alone(kind):
    """A volume type that the restricted standard does not list is a violation, a new one too."""
    spec = {**secured(**HARD), "volumes": [{"name": "v", kind: {}}]}
    assert found(spec, "restricted") == [("volumes[0]", "restricted/volumeTypes")]


def test_a_container_takes_back_what_its_pod_said():
    """runAsNonRoot: false in a container is a violation although the pod says true."""
    spec = {
        **secured(**{**HARD, "runAsNonRoot": False}),
        "securityContext": {"runAsNonRoot": True},
    }
    assert found(spec, "restricted") == [(f"{CONTEXT}.runAsNonRoot", "restricted/runAsNonRoot")]


def test_windows_pods_need_no_means_of_linux():
    """With os.name windows, privilege escalation, seccomp and capabilities are not asked for."""
    spec = {**secured(runAsNonRoot=True), "os": {"name": "windows"}}
    assert found(spec, "restricted") == []


@pytest.mark.parametrize("level", podsecurity.LEVELS[:2])
@pytest.mark.parametrize("row", _rows("asked"))
def test_what_only_an_administrator_opens_is_refused_until_then(row, level):
    """Accounts, nodes, schedulers, priorities and tokens: refused at any level, unless opened."""
    assert found(_pod(row["pod"]), level) == [(_field(row), row["rule"])]
    assert found(_pod(row["pod"]), level, rules=Rules(**row["opened"])) == []


def test_a_token_without_audience_is_never_opened():
    """It is one for the API server, whatever audiences are allowed."""
    spec = a_pod(
        volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]
    )
    assert len(found(spec, rules=Rules(token_audiences="x,*"))) == 1


@pytest.mark.parametrize("blank", ["", " "])
def test_a_pattern_opens_no_class_of_the_system(blank):
    """Classes system-… have to be named in full; no class begins with a blank."""
    spec = a_pod(priorityClassName=f"{blank}system-cluster-critical")
    assert found(spec, rules=Rules(priority_classes="*")) != []


@pytest.mark.parametrize(
    "name", ["hostAliases", "runtimeClassName", "automountServiceAccountToken"]
)
def test_what_is_open_can_be_closed(name):
    """With no field open, aliases of hosts and runtime classes are refused too."""
    spec = a_pod(**{name: "x"})
    assert found(spec, rules=Rules(fields="none")) == [(name, name)]


BAD = {"template": {"spec": a_pod(hostNetwork=True)}}
KINDS = [
    ("apps/v1", "Deployment", BAD, ""),
    ("batch/v1", "CronJob", {"jobTemplate": {"spec": BAD}}, "jobTemplate.spec."),
    ("ray.io/v1", "RayCluster", {"workerGroupSpecs": [BAD]}, "workerGroupSpecs[0]."),
    ("example.com/v1", "Novelty", {"deep": [{"a": BAD}]}, "deep[0].a."),
]


@pytest.mark.parametrize(("api_version", "kind", "spec", "path"), KINDS)
def test_pod_templates_of_any_kind_are_found(api_version, kind, spec, path):
    """A field that ends in `template` and has containers is a pod template, wherever it is."""
    manifest = {"apiVersion": api_version, "kind": kind, "spec": spec}
    (one,) = podsecurity.check_pods(manifest, "team", "baseline", Rules())
    assert one.field == f"spec.{path}template.spec.hostNetwork"


def test_a_pod_is_its_own_template():
    """A Pod's own spec is judged."""
    manifest = {"apiVersion": "v1", "kind": "Pod", "spec": a_pod(hostPID=True)}
    (one,) = podsecurity.check_pods(manifest, "team", "baseline", Rules())
    assert one.field == "spec.hostPID"


NAMESPACES = {
    "team": True,
    "kubeflow": True,
    "kube-system": False,
    "kube-flannel": False,
    "roadstead": False,
}


@pytest.mark.parametrize(("namespace", "fine"), NAMESPACES.items())
def test_nothing_goes_into_a_clusters_own_namespaces(namespace, fine):
    """kube-* and Roadstead's own namespaces are no targets."""
    assert (podsecurity.check_target(namespace, Rules()) == []) is fine


def test_only_listed_namespaces_are_targets():
    """With a list of namespaces, any other is refused."""
    assert podsecurity.check_target("other", Rules(namespaces="team-*")) != []
    assert podsecurity.check_target("team-a", Rules(namespaces="team-*")) == []


def test_a_misspelt_level_is_the_strictest():
    """As Kubernetes reads such a label."""
    assert podsecurity.level_named("Baseline") == "restricted"


@pytest.mark.parametrize("wrong", [{"level": "strict"}, {"fields": "hostPath"}, {"levels": "a"}])
def test_rules_that_can_not_be_meant_are_refused(wrong):
    """A level, a field or an entry that does not exist is a mistake, not a rule."""
    with pytest.raises(ValueError, match="expected"):
        Rules(**wrong)


WORDS = """securityContext capabilities add volumes projected sources ports lifecycle tolerations
seccompProfile type containers initContainers priority serviceAccountName metadata annotations"""
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_the_examples_ask_for_nothing_special():
    """Every manifest of examples/ is taken at baseline, by the rules as they come."""
    paths = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
    documents = [each for path in paths for each in yaml.safe_load_all(path.read_text()) if each]
    assert len(documents) > 20
    for each in documents:
        assert podsecurity.check_pods(each, "team", "baseline", Rules()) == []
        assert podsecurity.check_job_fields(each.get("spec") or {}, from_client=True) == []


@given(values, st.sampled_from(podsecurity.LEVELS))
def test_no_input_breaks_the_rules(value, level):
    """Whatever a manifest holds, the answer is a list."""
    for spec in (value, {"containers": value, "volumes": value, "securityContext": value}):
        job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": spec}}}
        assert isinstance(podsecurity.check_pods(job, "team", level, Rules()), list)
        other = {**job, "kind": "Other"}
        assert isinstance(podsecurity.check_pods(other, "team", level, Rules()), list)


def a_template(**marks):
    """A pod template whose labels and annotations are these."""
    return {"metadata": marks, "spec": a_pod()}


TEMPLATES = {
    "Deployment": ("spec.template", lambda template: {"template": template}),
    "CronJob": (
        "spec.jobTemplate.spec.template",
        lambda template: {"jobTemplate": {"spec": {"template": template}}},
    ),
    "RayJob": (
        "spec.rayClusterSpec.headGroupSpec.template",
        lambda template: {"rayClusterSpec": {"headGroupSpec": {"template": template}}},
    ),
}


@pytest.mark.parametrize(
    ("marks", "code"),
    [
        ({"labels": {"roadstead.dev/job-uid": "u-2"}}, "ReservedLabel"),
        ({"labels": {"roadstead.dev/region": "x"}}, "ReservedLabel"),
        ({"annotations": {"roadstead.dev/not-started": "true"}}, "UnknownAnnotation"),
        ({"annotations": {"roadstead.dev/retry": "2"}}, None),
        ({"labels": {"app": "web"}, "annotations": {"team": "a"}}, None),
        ({"labels": "none", "annotations": ["x"]}, None),
    ],
)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_no_pod_template_carries_what_is_roadsteads(kind, marks, code):
    """Of any kind: its field is named, and the remedy is to leave it out."""
    path, spec = TEMPLATES[kind]
    manifest = {"apiVersion": "x/v1", "kind": kind, "spec": spec(a_template(**marks))}
    told = podsecurity.check_pods(manifest, "team", "privileged", Rules())
    assert [each.code for each in told] == ([] if code is None else [code])
    assert all(each.field.startswith(f"{path}.metadata.") for each in told)
    assert all(each.message.endswith("leave it out") for each in told)


@pytest.mark.parametrize(("name", "kept"), [("job-uid", True), ("created-by", False)])
def test_a_job_has_the_labels_that_the_hub_writes_there(name, kept):
    """As the agent gets it: three labels, and no other of Roadstead's."""
    job = a_job(a_pod())
    job["spec"]["template"]["metadata"] = {"labels": {f"roadstead.dev/{name}": "u-1"}}
    assert (podsecurity.check_pods(job, "team", "privileged", Rules()) == []) is kept
