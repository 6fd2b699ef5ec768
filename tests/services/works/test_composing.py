"""What a member gets of a manifest: which keys go, which are added, and which stay as they were."""

import copy
from typing import Any

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.works.compose import Stamp, compose_job, compose_object, digest
from hub.services.works.counters import WaitTimes
from hub.services.works.offer import PreparedOffer, ignored_paths, work_of
from hub.store.records.works import Composable
from shared import labels as keys

STAMP = Stamp("hub-1", "inc", "uid-1", 3, 2, "hash", "LocalQueue/q")
QUEUE = keys.QUEUE_NAME
EQUAL = keys.KUEUE_PREFIX + "job-completions-equal-parallelism"


def a_job(**given: Any) -> dict[str, Any]:
    """A Job with labels, annotations and environment; `metadata`, and fields of its spec."""
    return {
        "metadata": {"name": "j", "namespace": "n", **given.pop("metadata", {})},
        "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}, **given},
    }


def composed(manifest: dict[str, Any], **options: Any) -> dict[str, Any]:
    return compose_job(copy.deepcopy(manifest), ApplyOptions(**options), STAMP)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"selector": {"a": 1}}, {}),
        ({"selector": {"a": 1}, "manualSelector": False}, {}),
        (
            {"selector": {"a": 1}, "manualSelector": True},
            {"selector": {"a": 1}, "manualSelector": True},
        ),
    ],
)
def test_only_a_selector_of_its_own_stays(given, kept):
    """A generated one would match other pods there; `manualSelector: false` says that it is generated."""
    spec = composed(a_job(**given))["spec"]
    assert {k: v for k, v in spec.items() if "elector" in k} == kept


@pytest.mark.parametrize(
    ("annotation", "parallelism", "completions"),
    [("true", 2, 2), ("false", 2, 5), (None, 2, 5), ("true", None, 5)],
)
def test_completions_follow_a_smaller_size_only_where_asked(annotation, parallelism, completions):
    """Kueue's annotation must say true, and the job must have been admitted in part."""
    metadata = {"annotations": {EQUAL: annotation}} if annotation else {}
    spec = composed(
        a_job(metadata=metadata, parallelism=5, completions=5), parallelism=parallelism
    )["spec"]
    assert (spec["parallelism"], spec["completions"]) == (parallelism or 5, completions)


@pytest.mark.parametrize("queue", ["", "q"])
def test_keys_of_queueing_stay_where_a_queue_manager_serves_them(queue):
    """Elsewhere all of them go, from the Job and from its pods; other keys stay either way."""
    marks = {QUEUE: "old", keys.KUEUE_PREFIX + "x": "1", "mine": "2"}
    metadata = {"labels": marks, "annotations": marks}
    job = a_job(metadata=metadata, template={"metadata": metadata, "spec": {}})
    made = composed(job, queue=queue, suspend=bool(queue))
    pods = made["spec"]["template"]["metadata"]
    for place, label in ((made["metadata"], "q"), (pods, "old")):
        assert place["labels"].get(QUEUE) == (label if queue else None)
        for part in ("labels", "annotations"):
            assert (keys.KUEUE_PREFIX + "x" in place[part]) is bool(queue)
            assert place[part]["mine"] == "2"
    assert QUEUE not in made["metadata"]["annotations"]
    assert made["spec"]["suspend"] is bool(queue)


def test_every_container_knows_its_epoch():
    """First in its environment, init containers too; what the user set under these names goes."""
    fence = [
        {"name": keys.JOB_UID_VARIABLE, "value": "uid-1"},
        {"name": keys.EPOCH_VARIABLE, "value": "3"},
    ]
    mine = [{"name": "A", "value": "1"}, {"name": keys.EPOCH_VARIABLE, "value": "9"}]
    pod = {
        "initContainers": [{"name": "i", "env": mine}],
        "containers": [{"name": "a", "env": mine}, {"name": "b"}],
    }
    made = composed(a_job(template={"spec": pod}))["spec"]["template"]["spec"]
    assert [c["env"] for c in (*made["initContainers"], *made["containers"])] == [
        fence + mine[:1],
        fence + mine[:1],
        fence,
    ]


def test_what_is_added_to_pods_joins_what_they_have():
    """Labels, annotations and node labels are merged; a toleration that is there is not doubled."""
    spot, gpu = {"key": "spot"}, {"key": "gpu"}
    template = {
        "metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}},
        "spec": {"nodeSelector": {"c": "3"}, "tolerations": [spot]},
    }
    made = composed(
        a_job(template=template),
        pod_labels={"x": "7"}, pod_annotations={"y": "8"}, node_selector={"z": "9"},
        tolerations=(spot, gpu),
    )["spec"]["template"]  # fmt: skip
    assert made["metadata"]["labels"].items() >= {"a": "1", "x": "7"}.items()
    assert made["metadata"]["annotations"] == {"b": "2", "y": "8"}
    assert made["spec"]["nodeSelector"] == {"c": "3", "z": "9"}
    assert made["spec"]["tolerations"] == [spot, gpu]


@pytest.mark.parametrize("given", [None, "Failed", "TerminatingOrFailed"])
def test_pods_are_replaced_as_the_job_says(given):
    """Without a word the member's API server decides, as the hub cluster's does for a Job by kubectl."""
    fields = {} if given is None else {"podReplacementPolicy": given}
    assert composed(a_job(**fields))["spec"].get("podReplacementPolicy") == given


@pytest.mark.parametrize(
    ("kind", "spec", "kept"),
    [
        (
            "Service",
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 1},
            {},
        ),
        (
            "Service",
            {"clusterIP": "None", "clusterIPs": ["None"]},
            {"clusterIP": "None", "clusterIPs": ["None"]},
        ),
        ("Service", {"ports": []}, {"ports": []}),
        ("PersistentVolumeClaim", {"volumeName": "v", "x": 1}, {"x": 1}),
        (
            "ConfigMap",
            {"volumeName": "v", "clusterIP": "x"},
            {"volumeName": "v", "clusterIP": "x"},
        ),
        ("Namespace", {"finalizers": ["kubernetes"]}, None),
    ],
)
def test_what_the_hubs_api_server_gave_an_object_stays_behind(kind, spec, kept):
    """Addresses, ports of nodes, volumes, finalizers: a headless Service's None is the user's word."""
    made = compose_object(
        {"kind": kind, "metadata": {"name": "o"}, "spec": spec, "status": {}}, STAMP
    )
    assert (made.get("spec"), "status" in made) == (kept, False)


def test_pods_of_other_kinds_get_no_mark_of_roadstead():
    """A stored manifest may have them: pods would count as a job's, or agents would refuse the object."""
    marks = {"roadstead.dev/job-uid": "u-2", "roadstead.dev/team": "blue", "app": "web"}
    notes = {"roadstead.dev/note": "x", "note": "y"}
    template = {"metadata": {"labels": marks, "annotations": notes}, "spec": {"containers": []}}
    made = compose_object(
        {"kind": "Deployment", "metadata": {"name": "o"}, "spec": {"template": template}}, STAMP
    )
    assert made["spec"]["template"]["metadata"] == {
        "labels": {"app": "web"},
        "annotations": {"note": "y"},
    }


def _row(**columns: Any) -> Composable:
    job = orjson.dumps(a_job())
    row = Composable(
        "c1", "uid-1", 3, 2, "batch/v1", "Job", "n", "j", "Apply", "h", ApplyOptions(), "", True,
        False, job, "m", "q", "Offered", 3, None, None, None, None,
    )  # fmt: skip
    return row._replace(**columns)


@pytest.mark.parametrize("ttl_s", [None, 0, 60])
def test_a_ttl_of_nothing_is_told(ttl_s):
    """0 lets the finished Job go at once; only where none was given nothing is said."""
    work = work_of(PreparedOffer(_row(), ApplyOptions(ttl_s=ttl_s), "h"), "hub-1", "inc", "s")
    assert work.get("ttl_s", "nothing") == ("nothing" if ttl_s is None else ttl_s)


@pytest.mark.parametrize(
    ("session", "first", "doubtful", "fresh"),
    [
        ("s", "s", False, True),
        ("s", "t", False, False),
        ("", "", False, False),
        ("s", "s", True, False),
    ],
)
def test_a_work_is_fresh_for_the_session_it_was_first_offered_to(session, first, doubtful, fresh):
    """For no other, for none without a name, and never where a lost time lies in between."""
    one = PreparedOffer(_row(), ApplyOptions(session=first, doubtful=doubtful), "h")
    assert work_of(one, "hub-1", "inc", session)["fresh"] is fresh


@pytest.mark.parametrize(("action", "hashed"), [("Apply", "h"), ("Keep", "h"), ("Withdraw", "")])
def test_only_what_is_applied_is_composed(action, hashed):
    """What is kept is known by its hash, what is withdrawn by nothing."""
    work = work_of(PreparedOffer(_row(action=action), ApplyOptions(), "h"), "hub-1", "inc", "s")
    assert (work["hash"], "manifest" in work) == (hashed, action == "Apply")


def test_a_hash_is_of_manifest_options_and_epoch():
    """Any of them makes it another; equal ones make it the same."""
    base = digest("m", ApplyOptions(), 1)
    others = {
        digest("n", ApplyOptions(), 1),
        digest("m", ApplyOptions(ttl_s=0), 1),
        digest("m", ApplyOptions(), 2),
    }
    assert (len(base), len(others), base in others, digest("m", ApplyOptions(), 1)) == (
        32,
        3,
        False,
        base,
    )


@pytest.mark.parametrize(
    ("text", "paths"),
    [("", []), ("/a,/b /c", ["/a", "/b", "/c"]), (" , /a ,, b", ["/a"]), ("/a\n/b", ["/a", "/b"])],
)
def test_drift_is_ignored_at_the_pointers_named(text, paths):
    """Apart by commas or blanks; what is no pointer is left out."""
    assert ignored_paths({"roadstead.dev/ignore-drift": text}) == paths
    assert ignored_paths(None) == []


def test_a_wait_of_just_a_bound_is_within_it():
    """As Prometheus counts: a bucket holds what is at most its bound; the last one holds everything."""
    times = WaitTimes("t", "told")
    times.observe("q", [0.1, 0.1000001, 10240.0, 10240.1])
    (family,) = times.collect()
    found = {s.labels.get("le"): s.value for s in family.samples if s.name == "t_bucket"}
    assert [found[le] for le in ("0.1", "0.25", "5120.0", "10240.0", "+Inf")] == [1, 2, 2, 3, 4]
    assert next(s.value for s in family.samples if s.name == "t_sum") == pytest.approx(
        20480.3000001
    )


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def preferred(manifest: dict[str, Any], **options: Any) -> list[Any]:
    """Node preferences of the composed Job: operator and names of those of the hub, whole of others."""
    of_nodes = composed(manifest, **options)["spec"]["template"]["spec"]["affinity"][
        "nodeAffinity"
    ]
    return [
        (each["operator"], each["values"]) if each["key"] == "kubernetes.io/hostname" else each
        for term in of_nodes[PREFERRED]
        for each in term["preference"]["matchExpressions"]
    ]


def test_pods_prefer_the_nodes_that_others_left_for_them():
    """And leave those that are kept for others; a preference binds nobody once its time is over."""
    assert preferred(a_job(), nodes=("n1",), other_nodes=("n2", "n3")) == [
        ("In", ["n1"]),
        ("NotIn", ["n2", "n3"]),
    ]
    assert "affinity" not in composed(a_job())["spec"]["template"]["spec"]


def test_an_affinity_of_the_users_own_stays():
    """What they require and what they prefer."""
    own = {"key": "zone", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [own]}]}
    given = {
        "podAffinity": {},
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [own]}}],
        },
    }
    job = a_job()
    job["spec"]["template"]["spec"]["affinity"] = given
    assert preferred(job, nodes=("n1",)) == [own, ("In", ["n1"])]
    affinity = composed(job, nodes=("n1",))["spec"]["template"]["spec"]["affinity"]
    assert affinity["podAffinity"] == {}
    assert affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == required
