"""Jobs at the API server: defaults, generated selector, what is refused, what may change."""

import pytest

from tests.kubesim.server.build import a_job, a_pod_template


def causes(status):
    return [cause["field"] for cause in status["details"]["causes"]]


def test_a_job_gets_its_defaults(kube):
    """parallelism, completions, backoffLimit and the rest are filled in."""
    spec = kube.create("jobs", a_job())["spec"]
    shown = {name: spec[name] for name in spec if name not in ("selector", "template")}
    assert shown == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": True,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_parallelism_alone_makes_a_work_queue(kube):
    """With parallelism given completions stays open."""
    assert "completions" not in kube.create("jobs", a_job(parallelism=2))["spec"]


def test_a_job_selects_its_pods_by_uid(kube):
    """The selector and the template's labels are generated from uid and name."""
    job = kube.create("jobs", a_job())
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "work",
        "controller-uid": uid,
        "job-name": "work",
    }


def test_the_template_gets_its_defaults(kube):
    """Pod and container fields are filled in."""
    spec = kube.create("jobs", a_job())["spec"]["template"]["spec"]
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["terminationGracePeriodSeconds"] == 30
    container = spec["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePolicy"] == "File"


def test_a_job_takes_the_labels_of_its_template(kube):
    """A Job without labels has those of its pods, the generated ones among them."""
    job = a_job()
    job["spec"]["template"]["metadata"]["labels"] = {"team": "red"}
    made = kube.create("jobs", job)
    assert made["metadata"]["labels"]["team"] == "red"
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("spec.parallelism", {"parallelism": -1}),
        ("spec.completions", {"completions": -1}),
        ("spec.backoffLimit", {"backoffLimit": -1}),
        ("spec.completionMode", {"completionMode": "Sorted"}),
        ("spec.completions", {"completionMode": "Indexed", "parallelism": 1}),
        pytest.param(
            "spec.managedBy",
            {"managedBy": "nobody"},
            marks=pytest.mark.kube_from("1.32", "the API server knows spec.managedBy"),
        ),
        ("spec.ttlSecondsAfterFinished", {"ttlSecondsAfterFinished": -5}),
        ("spec.podReplacementPolicy", {"podReplacementPolicy": "Never"}),
        ("spec.backoffLimitPerIndex", {"backoffLimitPerIndex": 1}),
        pytest.param(
            "spec.successPolicy",
            {"successPolicy": {"rules": [{"succeededCount": 1}]}},
            marks=pytest.mark.kube_from("1.31", "success policies"),
        ),
    ],
)
def test_bad_specs_are_refused_by_field(kube, field, spec):
    """Each bad field is named."""
    assert field in causes(kube.refused("jobs", a_job(**spec), 422))


@pytest.mark.parametrize(
    ("field", "pod"),
    [
        ("spec.template.spec.containers", {"containers": []}),
        ("spec.template.spec.containers[0].name", {"containers": [{"image": "x"}]}),
        ("spec.template.spec.containers[0].image", {"containers": [{"name": "x"}]}),
        ("spec.template.spec.containers[0].name", {"containers": [{"name": "X", "image": "x"}]}),
        (
            "spec.template.spec.containers[1].name",
            {"containers": [{"name": "x", "image": "x"}, {"name": "x", "image": "y"}]},
        ),
        (
            "spec.template.spec.containers[0].resources.requests",
            {
                "containers": [
                    {
                        "name": "x",
                        "image": "x",
                        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                    }
                ]
            },
        ),
        (
            "spec.template.spec.containers[0].volumeMounts[0].name",
            {
                "containers": [
                    {"name": "x", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
                ]
            },
        ),
        ("spec.template.spec.restartPolicy", {"restartPolicy": "Always"}),
        ("spec.template.spec.restartPolicy", {"restartPolicy": "Sometimes"}),
        ("spec.template.spec.dnsPolicy", {"dnsPolicy": "Maybe"}),
    ],
)
def test_bad_templates_are_refused_by_field(kube, field, pod):
    """Each bad field of the pod template is named."""
    assert field in causes(kube.refused("jobs", a_job(pod=pod), 422))


def test_a_bad_quantity_is_refused(kube):
    """An amount that does not parse is 400: it cannot even be decoded."""
    container = {"name": "x", "image": "x", "resources": {"requests": {"cpu": "much"}}}
    assert kube.refused("jobs", a_job(pod={"containers": [container]}), 400)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("spec.completions", {"completions": 3}),
        ("spec.completionMode", {"completionMode": "Indexed"}),
        ("spec.managedBy", {"managedBy": "example.com/else"}),
        ("spec.selector", {"selector": {"matchLabels": {"a": "b"}}}),
        ("spec.template", {"template": {"spec": {"hostNetwork": True}}}),
    ],
)
def test_immutable_fields(kube, field, change):
    """What makes a Job the Job it is cannot change."""
    kube.create("jobs", a_job(suspend=False, managedBy="example.com/outsider"))
    reply = kube.patch("jobs", "work", {"spec": change})
    assert reply.status_code == 422
    assert field in causes(reply.json())


@pytest.mark.parametrize(
    "change",
    [
        {"parallelism": 0},
        {"backoffLimit": 2},
        {"activeDeadlineSeconds": 100},
        {"ttlSecondsAfterFinished": 9},
        {"suspend": False},
    ],
)
def test_mutable_fields(kube, change):
    """Parallelism, limits, deadlines and suspension may change."""
    kube.create("jobs", a_job(managedBy="example.com/outsider"))
    reply = kube.patch("jobs", "work", {"spec": change})
    assert reply.status_code == 200, reply.text
    assert reply.json()["metadata"]["generation"] == 2


@pytest.mark.kube_from("1.36", "resources of suspended Jobs may change")
def test_a_suspended_job_may_be_placed_anew(kube):
    """Before it ever ran, a suspended Job's node selector, tolerations and resources may change."""
    kube.create("jobs", a_job(managedBy="example.com/outsider"))
    spec = {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "containers": [
            {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "2"}}}
        ],
    }
    kind = "application/strategic-merge-patch+json"
    reply = kube.patch("jobs", "work", {"spec": {"template": {"spec": spec}}}, kind)
    assert reply.status_code == 200, reply.text


def test_a_running_job_may_not_be_placed_anew(kube):
    """Once unsuspended the template is closed."""
    kube.create("jobs", a_job(suspend=False, managedBy="example.com/outsider"))
    change = {"spec": {"template": {"spec": {"nodeSelector": {"pool": "gpu"}}}}}
    assert kube.patch("jobs", "work", change).status_code == 422


def test_an_indexed_job_is_elastic(kube):
    """completions of an Indexed Job may change together with parallelism."""
    job = a_job(completionMode="Indexed", completions=2, parallelism=2)
    kube.create("jobs", job)
    alone = kube.patch("jobs", "work", {"spec": {"completions": 3}})
    assert alone.status_code == 422
    both = kube.patch("jobs", "work", {"spec": {"completions": 3, "parallelism": 3}})
    assert both.status_code == 200, both.text


def test_a_manual_selector_must_match(kube):
    """With manualSelector the selector must match the template's labels."""
    job = a_job(manualSelector=True, selector={"matchLabels": {"a": "b"}})
    assert "spec.template.metadata.labels" in causes(kube.refused("jobs", job, 422))
    job["spec"]["template"] = a_pod_template({"a": "b"})
    kube.create("jobs", job)


def test_a_cron_job_needs_a_schedule(kube):
    """A CronJob without a schedule is refused."""
    cron = {
        "metadata": {"name": "nightly"},
        "spec": {"jobTemplate": {"spec": {"template": a_pod_template()}}},
    }
    assert "spec.schedule" in causes(kube.refused("cronjobs", cron, 422))
