"""Words: what kinds are called, what a refusal says, which next step it names."""

from typing import Any

import pytest

from roadstead.cli.messages import hint_for, refusal, sentence
from roadstead.errors import (
    FieldProblem,
    JobFailed,
    NotAllowed,
    NotFound,
    Rejected,
    RoadsteadError,
    TimedOut,
    Unreachable,
    WrongAddress,
)
from roadstead.models.jobs import WholeJob
from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items, problem

KUEUE = "kueue.x-k8s.io"
PLACEMENT = "placement.kubernetes-fleet.io"
IN_NAMESPACE = "namespaces/default/x"
# Every word for a kind, and the path of one called x of the namespace default, if it lives in one.
WORDS = [
    ("ClusterQueue clusterqueue clusterqueues CQ cq", f"{KUEUE}/ClusterQueue/x"),
    ("LocalQueue localqueues queue queues lq", f"{KUEUE}/LocalQueue/{IN_NAMESPACE}"),
    ("cohort cohorts co", f"{KUEUE}/Cohort/x"),
    ("ResourceFlavor resourceflavors flavor flavors rf", f"{KUEUE}/ResourceFlavor/x"),
    ("AdmissionCheck admissionchecks ac", f"{KUEUE}/AdmissionCheck/x"),
    ("workloadpriorityclass workloadpriorityclasses wpc", f"{KUEUE}/WorkloadPriorityClass/x"),
    ("multikueuecluster multikueueclusters mkc", f"{KUEUE}/MultiKueueCluster/x"),
    ("multikueueconfig multikueueconfigs mkconf", f"{KUEUE}/MultiKueueConfig/x"),
    (
        "clusterresourceplacement clusterresourceplacements placement placements crp",
        f"{PLACEMENT}/ClusterResourcePlacement/x",
    ),
    (
        "clusterresourceoverride clusterresourceoverrides cro",
        f"{PLACEMENT}/ClusterResourceOverride/x",
    ),
    (
        "clusterresourceenvelope clusterresourceenvelopes",
        f"{PLACEMENT}/ClusterResourceEnvelope/x",
    ),
    ("resourceenvelope resourceenvelopes", f"{PLACEMENT}/ResourceEnvelope/{IN_NAMESPACE}"),
    (
        "clusterresourceplacementstatus clusterresourceplacementstatuses crps",
        f"{PLACEMENT}/ClusterResourcePlacementStatus/{IN_NAMESPACE}",
    ),
    ("resourceoverride resourceoverrides ro", f"{PLACEMENT}/ResourceOverride/{IN_NAMESPACE}"),
    (
        "clusterstagedupdatestrategy clusterstagedupdatestrategies csus",
        f"{PLACEMENT}/ClusterStagedUpdateStrategy/x",
    ),
    (
        "stagedupdatestrategy stagedupdatestrategies sus",
        f"{PLACEMENT}/StagedUpdateStrategy/{IN_NAMESPACE}",
    ),
    (
        "clusterstagedupdaterun clusterstagedupdateruns csur",
        f"{PLACEMENT}/ClusterStagedUpdateRun/x",
    ),
    ("stagedupdaterun stagedupdateruns sur", f"{PLACEMENT}/StagedUpdateRun/{IN_NAMESPACE}"),
    (
        "clusterapprovalrequest clusterapprovalrequests careq",
        f"{PLACEMENT}/ClusterApprovalRequest/x",
    ),
    ("approvalrequest approvalrequests areq", f"{PLACEMENT}/ApprovalRequest/{IN_NAMESPACE}"),
    (
        "resourceplacement resourceplacements rp",
        f"{PLACEMENT}/ResourcePlacement/{IN_NAMESPACE}",
    ),
    (
        "membercluster memberclusters cluster clusters",
        "cluster.kubernetes-fleet.io/MemberCluster/x",
    ),
    ("namespace namespaces ns", "core/Namespace/x"),
    ("configmap configmaps cm", f"core/ConfigMap/{IN_NAMESPACE}"),
    ("secret secrets", f"core/Secret/{IN_NAMESPACE}"),
    ("service services svc", f"core/Service/{IN_NAMESPACE}"),
    ("serviceaccount serviceaccounts sa", f"core/ServiceAccount/{IN_NAMESPACE}"),
    ("deployment deployments deploy", f"apps/Deployment/{IN_NAMESPACE}"),
    ("priorityclass priorityclasses pc", "scheduling.k8s.io/PriorityClass/x"),
]


@pytest.mark.parametrize(("words", "path"), WORDS, ids=[words for words, _ in WORDS])
def test_every_word_for_a_kind_means_it(words: str, path: str) -> None:
    """With its group, and in the namespace `default` where it lives in one; no hub is asked for it."""
    for word in words.split():
        with answering(Answer({"result": "deleted"})) as script:
            run("--server", script.address, "delete", word, "x")
        assert script.asked == [f"DELETE /v1/objects/{path}"], word


@pytest.mark.parametrize("word", ["widgets", "Widget", "widget.example.com"])
def test_a_kind_of_nobody_is_looked_up_and_its_scope_found_out(word: str) -> None:
    """In the namespace first, then without one, for nobody has said where it lives."""
    held = items({"group": "example.com", "kind": "Widget"}, {"group": "e.org", "kind": "Other"})
    gone = problem(404, "NotFound", "no")
    with answering(held, gone, Answer({"result": "deleted"})) as script:
        done = run("--server", script.address, "delete", word, "x")
    assert script.asked[1:] == [
        f"DELETE /v1/objects/example.com/Widget/{IN_NAMESPACE}",
        "DELETE /v1/objects/example.com/Widget/x",
    ]
    assert (done.code, done.out) == (0, "Widget x deleted\n")


def test_a_word_for_several_kinds_asks_which() -> None:
    """Both are named with their groups, nothing is deleted, and the exit code is that of a refusal."""
    held = items({"group": "a.io", "kind": "Widget"}, {"kind": "Widget"})
    with answering(held) as script:
        done = run("--server", script.address, "delete", "widget", "x")
    assert script.asked == ["GET /v1/objects"]
    said = "error: widget may be one of Widget.a.io, Widget.core: say which [NotFound]\n"
    assert (done.code, done.err) == (3, said)


def test_a_word_for_no_kind_says_so() -> None:
    """With the code that the hub gives for what does not exist."""
    with answering(items()) as script:
        done = run("--server", script.address, "delete", "widget", "x")
    assert (done.code, done.err) == (
        3, "error: widget is not a kind that the hub holds [NotFound]\n"
    )  # fmt: skip


def refused(code: str, detail: str = "", kind: type[Rejected] = Rejected) -> Rejected:
    return kind(422, {"code": code, "detail": detail})


def absent(detail: str) -> Rejected:
    return refused("NotFound", detail, NotFound)


A_JOB = WholeJob.of(a_listed_job())
HINTS: list[tuple[RoadsteadError, str]] = [
    (absent("there is no job a/b"), "List the existing ones: roadstead jobs ls"),
    (
        absent("there is no job b"),
        "Name it NAMESPACE/NAME, or by its uid. List the existing ones: roadstead jobs ls",
    ),
    (absent("no cluster c"), "List the existing ones: roadstead clusters ls"),
    (absent("there is no MemberCluster c"), "List the existing ones: roadstead clusters ls"),
    (absent("there is no ClusterQueue q"), "List the existing ones: roadstead queues ls"),
    (absent("there is no role binding b"), "List the existing ones: roadstead access ls"),
    (absent("there is no LocalQueue q"), "List the existing ones: roadstead queues ls -o wide"),
    (absent("there is no Workload a/w"), "List the existing ones: roadstead workloads ls"),
    (absent("there is no placement p"), "List the existing ones: roadstead placements ls"),
    (absent("there is no ResourcePlacement p"), "List the existing ones: roadstead placements ls"),
    (
        absent("there is no staged update run or placement p"),
        "List the existing ones: roadstead rollouts ls",
    ),
    (absent("there is no Namespace n"), "List the existing ones: roadstead jobs ls"),
    (absent("there is no AdmissionCheck c"), "List the existing ones: roadstead checks ls"),
    (absent("there is no viewer ana"), "List the existing ones: roadstead tokens ls"),
    (absent("there is no Widget w"), ""),
    (absent("gone"), ""),
    (
        refused("AlreadyExists", "cluster c is there"),
        "roadstead clusters token NAME prints a new join token for it.",
    ),
    (refused("AlreadyExists", "job c is there"), ""),
    (
        refused("QueueNotEmpty"),
        "roadstead delete clusterqueue NAME --drain evicts its jobs first.",
    ),
    (
        refused("UnsupportedKind", "v1 ConfigMap is no job; batch/v1 Job is"),
        (
            "submit accepts Jobs, and JobSets and their kin that name a queue; "
            "roadstead apply -f FILE accepts others."
        ),
    ),
    (refused("UnsupportedKind", "an AppWrapper wraps no ConfigMap"), ""),  # apply refuses it too
    (
        refused("QueueRequired"),
        (
            "Name it by that label, or by -q of roadstead run. roadstead queues ls -o wide lists the queues "
            "and their namespaces."
        ),
    ),
    (
        refused("QueueNotFound"),
        "roadstead queues ls -o wide lists the queues and their namespaces.",
    ),
    (
        refused("PodsRemoved"),
        "roadstead jobs show JOB shows what the hub kept of failed pods.",
    ),
    (refused("Other"), ""),
    (JobFailed([A_JOB]), "Why: roadstead explain team-a/ok. Its log: roadstead logs team-a/ok"),
    (
        NotAllowed("no"),
        (
            "A token comes from `roadstead login`, --token, ROADSTEAD_TOKEN, or ROADSTEAD_DATA=DIR of "
            "`roadstead up`."
        ),
    ),
    (NotAllowed("no", 403), ""),
    (Unreachable("the store does not answer; try again", answered=True), ""),
    (
        WrongAddress("the CA of the hub, /ca.pem: No such file or directory"),
        "It comes from --ca or ROADSTEAD_CA.",
    ),
    (
        Unreachable("no"),
        (
            "Start a hub: roadstead up. Or configure one: roadstead login, --server, ROADSTEAD_SERVER, or "
            "ROADSTEAD_DATA=DIR."
        ),
    ),
    (
        WrongAddress("no"),
        (
            "It comes from --server, ROADSTEAD_SERVER, `roadstead login`, or the file `server` in "
            "ROADSTEAD_DATA."
        ),
    ),
    (TimedOut("late"), ""),
]


@pytest.mark.parametrize(("failure", "hint"), HINTS)
def test_a_failure_names_the_next_step_where_there_is_one(
    failure: RoadsteadError, hint: str
) -> None:
    """And none where it would mislead; it stands below the failure."""
    assert hint_for(failure) == hint
    lines = sentence(failure).split("\n")
    assert lines[1:] == ([f"  {hint}"] if hint else [])


ONE = FieldProblem("spec.a", "Invalid", "is wrong")
TWO = FieldProblem("spec.b", "Invalid", "is odd")


@pytest.mark.parametrize(
    ("detail", "errors", "lines"),
    [
        ("bad", (), ["bad [Code]"]),
        ("", (), ["Code [Code]"]),
        ("is wrong", (ONE,), ["spec.a: is wrong [Code]"]),
        ("spec.a is wrong", (ONE,), ["spec.a is wrong [Code]"]),
        ("bad", (ONE,), ["spec.a: bad [Code]", "spec.a: is wrong"]),
        ("bad", (ONE, TWO), ["bad [Code]", "spec.a: is wrong", "spec.b: is odd"]),
        ("is wrong", (ONE, TWO), ["is wrong [Code]", "spec.b: is odd"]),
        ("bad", (FieldProblem("", "Invalid", "is wrong"),), ["bad [Code]"]),
        ("a\x1b[1m", (), ["a?[1m [Code]"]),
    ],
)
def test_a_refusal_names_each_field_once(detail: str, errors: Any, lines: list[str]) -> None:
    """The first line is the hub's sentence with its code; a terminal is not steered by it."""
    assert refusal("Code", detail, errors) == lines


NOT_THERE = problem(404, "NotFound", "it does not exist")


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("jobs ls -n a", ["/v1/objects/core/Namespace/a"]),
        ("jobs ls --cluster c", ["/v1/clusters/c"]),
        ("jobs ls -n default -q b", ["/v1/queues/default/b"]),
        ("jobs ls -q b", [f"/v1/objects/{KUEUE}/LocalQueue?limit=500", "/v1/objects"]),
        ("workloads ls --cluster-queue q", ["/v1/queues/q"]),
        ("checks ls --check c", [f"/v1/objects/{KUEUE}/AdmissionCheck/c"]),
        ("events -n a", ["/v1/objects/core/Namespace/a"]),
    ],
)
def test_an_empty_list_of_what_is_not_there_is_no_success(line: str, asked: list[str]) -> None:
    """Each thing that a filter names is looked for, and that it does not exist is the answer."""
    lists = [f"/v1/objects/{KUEUE}/LocalQueue", "/v1/jobs", "/v1/workloads", "/v1/checks"]

    def answer(path: str) -> Answer:
        listed = path.partition("?")[0] in [*lists, "/v1/events", "/v1/objects"]
        return items() if listed else NOT_THERE

    with answering(asked=answer) as script:
        done = run("--server", script.address, *line.split())
    assert script.asked[1:] == [f"GET {path}" for path in asked]
    assert (done.code, done.out) == (3, "")
    assert "NotFound" in done.err


def test_what_is_there_has_an_empty_list() -> None:
    """A queue of that name in any namespace is enough, and `default` is always there."""
    queue = {"metadata": {"name": "b", "namespace": "elsewhere"}}

    def answer(path: str) -> Answer:
        return items(queue) if "LocalQueue" in path else items()

    for line in ("jobs ls -q b", "jobs ls -n default"):
        with answering(asked=answer) as script:
            done = run("--server", script.address, *line.split())
        said = "No jobs match.\n"
        assert (done.code, done.out, done.err) == (0, "", said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jobs ls", "No jobs. Submit one: roadstead submit FILE"),
        ("jobs ls --limit 5", "No jobs. Submit one: roadstead submit FILE"),
        ("events", "No events."),
        ("workloads ls", "No Workloads."),
        ("checks ls", "No open checks."),
        (
            "queues ls",
            (
                "No queues. The first job makes queue default, which has no limits: "
                "roadstead run -- echo hi. To set limits, apply a ClusterQueue and a LocalQueue: "
                "roadstead apply -f FILE"
            ),
        ),
        (
            "queues pending q",
            "No jobs wait in q. Running jobs that wait to grow: roadstead jobs ls --state running",
        ),
        ("clusters ls", "No clusters. Declare one: roadstead clusters add NAME"),
        ("placements ls", "No placements."),
        ("drift ls", "No drift: what the agents have reported is as declared."),
        ("tokens ls", "No tokens."),
    ],
)
def test_an_empty_list_says_so_beside_its_output(line: str, said: str) -> None:
    """Nothing to standard output, and to a program a list of nothing."""
    with answering(items()) as script:
        done = run("--server", script.address, *line.split())
        told = run("--server", script.address, *line.split(), "-o", "json")
    assert (done.code, done.out, done.err) == (0, "", said + "\n")
    assert (told.code, told.out, told.err) == (0, '{\n  "items": []\n}\n', "")
