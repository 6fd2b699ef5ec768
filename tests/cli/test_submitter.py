"""Everything that a submitter must not do, typed with a submitter's token: refused, in words that help.

What is in namespaces where they have no role is answered as what does not exist; what they see and may not
change is refused with the role that it takes.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.build import a_job, text
from tests.cli.commands import Ran, Reached, run

ABSENT, REFUSED = 3, 4
ADMINISTRATOR = "it takes the role cluster-administrator"
EVERYWHERE = "it takes a role in all namespaces"
ANOTHERS = "job physics/noors is another's"
NO_JOB = "there is no job chem/secret"


@dataclass(frozen=True)
class Submitter:
    """Iris, who submits in namespace physics and has no other role."""

    hub: Reached
    token: str
    folder: Path

    def types(self, line: str) -> Ran:
        """Run the command with her token; FOLDER is where the files are."""
        words = shlex.split(line.replace("FOLDER", str(self.folder)))
        return run("--server", self.hub.server, "--token", self.token, *words)


@pytest.fixture(scope="module")
def iris(hub: Reached, tmp_path_factory: pytest.TempPathFactory) -> Submitter:
    """With a job of hers, one of a colleague's beside it, and one in a namespace that is not hers."""
    folder = tmp_path_factory.mktemp("submitter")
    with hub.client() as admin:
        for name, namespace in (("noor", "physics"), ("carl", "chem"), ("iris", "physics")):
            admin.bind_role(name, "submitter", users=[name], namespaces=[namespace])
            job = {"noor": "noors", "carl": "secret", "iris": "mine"}[name]
            (folder / f"{job}.yaml").write_text(text(a_job(job, namespace=namespace)))
            token = admin.issue_token(name, "user").token
            made = run(
                *("--server", hub.server, "--token", token),
                *("submit", str(folder / f"{job}.yaml")),
            )
            assert made.code == 0, made.err
        for name, document in DOCUMENTS.items():
            (folder / f"{name}.yaml").write_text(document)
        admin.apply((folder / "localqueue.yaml").read_bytes())
        admin.apply((folder / "configmap.yaml").read_bytes())
    return Submitter(hub, token, folder)


def marked(key: str, value: str) -> dict[str, Any]:
    """A job of hers with an annotation."""
    job = a_job("x", namespace="physics")
    job["metadata"]["annotations"] = {key: value}
    return job


DOCUMENTS = {
    "elsewhere": text(a_job("x", namespace="chem")),
    "owner": text(marked("roadstead.dev/submitted-by", "noor")),
    "forged": text(marked("roadstead.dev/epoch", "7")),
    "clusterqueue": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all-for-me}
spec: {resourceGroups: []}
""",
    "localqueue": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: day, namespace: physics}
spec: {clusterQueue: default}
""",
    "priority": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: me-first}
value: 1000000
""",
    "configmap": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: physics}
data: {a: "1"}
""",
    "secret": """
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: physics}
stringData: {a: b}
""",
    "placement": """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: everywhere}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: physics}]
""",
    "own-placement": """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: physics}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
""",
    "member": """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: mine}
""",
}


@pytest.mark.parametrize("verb", ["cancel", "hold", "release", "delete"])
def test_nothing_is_done_to_anothers_job(iris: Submitter, verb: str) -> None:
    """She sees that it is there, and whose, and is told that it is not hers."""
    done = iris.types(f"jobs {verb} physics/noors")
    assert (done.code, ANOTHERS in done.err) == (REFUSED, True), done.err
    assert "noor" in iris.types("jobs ls -n physics --user noor").out


@pytest.mark.parametrize(
    "line",
    [
        *(f"jobs {verb} chem/secret" for verb in ("show", "cancel", "hold", "release", "delete")),
        *("jobs resubmit chem/secret", "jobs pods chem/secret", "jobs wait chem/secret"),
        *("explain chem/secret", "events chem/secret", "logs chem/secret"),
    ],
)
def test_a_job_of_another_namespace_is_not_there(iris: Submitter, line: str) -> None:
    """In the words that are said of a job that never was."""
    done = iris.types(line)
    assert (done.code, NO_JOB in done.err) == (ABSENT, True), done.err
    never = iris.types(line.replace("secret", "never-was"))
    assert done.err.replace("secret", "never-was") == never.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jobs ls -n chem", "no namespace chem that you may see"),
        ("jobs ls -n never-was", "no namespace never-was that you may see"),
        ("queues show chem/default", "there is no LocalQueue chem/default"),
        ("queues pending chem/default", "there is no LocalQueue chem/default"),
        ("workloads show chem/secret", "there is no Workload chem/secret"),
        ("get configmap never-was -n chem", "there is no ConfigMap chem/never-was"),
        ("get nodes", "not a kind that the hub holds"),
    ],
)
def test_what_is_of_another_namespace_is_not_there(iris: Submitter, line: str, said: str) -> None:
    """Whether there is something or not."""
    done = iris.types(line)
    assert (done.code, said in done.err) == (ABSENT, True), done.err


def test_lists_tell_of_her_namespaces_alone(iris: Submitter) -> None:
    """Jobs, Workloads, queues, objects and events, asked for in every way that there is."""
    for line in (
        *("jobs ls -A", "jobs ls --user carl", "workloads ls", "queues ls -o wide", "events"),
        *("get jobs -A", "get jobs -n chem", "get lq -A", "get namespaces", "top --once"),
        *("placements ls", "drift ls", "works ls", "jobs ls --cluster c1 -o json"),
    ):
        done = iris.types(line)
        assert "chem" not in done.out + done.err.replace("-n chem", ""), line
        assert done.code in (0, REFUSED), line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # Members are the fleet's.
        ("clusters ls", EVERYWHERE),
        ("clusters show c1", EVERYWHERE),
        ("clusters add c9", ADMINISTRATOR),
        ("clusters token c1", ADMINISTRATOR),
        ("clusters cordon c1", ADMINISTRATOR),
        ("clusters uncordon c1", ADMINISTRATOR),
        ("clusters drain c1", ADMINISTRATOR),
        ("clusters rm c1", ADMINISTRATOR),
        ("clusters fence c1 --destroyed --confirm c1", ADMINISTRATOR),
        # Who may do what, and who did it.
        ("tokens ls", ADMINISTRATOR),
        ("tokens issue iris --role administrator", ADMINISTRATOR),
        ("tokens revoke noor --role user", ADMINISTRATOR),
        ("access ls", ADMINISTRATOR),
        ("access bind more --role submitter --user iris -n chem", ADMINISTRATOR),
        ("access unbind noor", ADMINISTRATOR),
        ("audit ls", "it takes the role batch-administrator"),
        # Queues are the batch administrator's.
        ("queues stop physics/day", "it takes the role batch-administrator"),
        ("queues stop chem/default", "it takes the role batch-administrator"),
        ("queues resume physics/day", "it takes the role batch-administrator"),
        ("queues pending default", EVERYWHERE),
        ("delete lq day -n physics", "it takes the role batch-administrator"),
        ("delete cq default", "it takes the role batch-administrator in all namespaces"),
        # Objects of other kinds, and where they are.
        ("delete configmap settings -n physics", "it takes the role"),
        ("delete namespace physics", "batch-administrator"),
        ("drift accept c1 ConfigMap/settings -n physics", ADMINISTRATOR),
        ("drift ignore c1 ConfigMap/settings -n physics", ADMINISTRATOR),
        ("drift restore c1 ConfigMap/settings -n physics", ADMINISTRATOR),
        ("placements rebalance everywhere --yes", ADMINISTRATOR),
        ("placements evict everywhere c1", ADMINISTRATOR),
        ("placements rollback everywhere --to 1", ADMINISTRATOR),
        ("rollouts approve release", ADMINISTRATOR),
        ("rollouts stop release", ADMINISTRATOR),
        ("hand-over Job mine -n physics --to hub-cluster", ADMINISTRATOR),
        # What executors and operators do.
        ("checks serve budget", ADMINISTRATOR),
        ("checks set physics/mine budget Ready", ADMINISTRATOR),
        ("admin retention --run", ADMINISTRATOR),
        ("admin adopt 01a21621-b32b-7e67-ab72-fca96156581a --cluster c1", ADMINISTRATOR),
        ("admin forget 01a21621-b32b-7e67-ab72-fca96156581a --cluster c1", ADMINISTRATOR),
        ("restored --accept", ADMINISTRATOR),
        ("hub-cluster show", EVERYWHERE),
        ("hub-cluster resume x", ADMINISTRATOR),
    ],
)
def test_what_is_not_a_submitters_is_refused(iris: Submitter, line: str, said: str) -> None:
    """With the exit code of rights, and with what it would take."""
    done = iris.types(line)
    assert (done.code, said in done.err) == (REFUSED, True), done.err + done.out
    assert "iris" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("elsewhere", "iris may hand in no job in queue default of namespace chem"),
        ("clusterqueue", "no ClusterQueue: a batch administrator of all namespaces may"),
        ("priority", "no WorkloadPriorityClass: a batch administrator of all namespaces may"),
        ("localqueue", "no LocalQueue in namespace physics: its batch administrator may"),
        ("configmap", "no ConfigMap: a cluster administrator may"),
        ("secret", "no Secret: a cluster administrator may"),
        ("placement", "no ClusterResourcePlacement: a cluster administrator may"),
        ("own-placement", "no ResourcePlacement: a cluster administrator may"),
        ("member", "no MemberCluster: a cluster administrator may"),
        ("owner", "roadstead.dev/submitted-by"),
        ("forged", "roadstead.dev/epoch"),
    ],
)
def test_what_a_submitter_may_not_hand_in_is_refused(
    iris: Submitter, name: str, said: str
) -> None:
    """By its document, with who may; and nothing of it is kept."""
    done = iris.types(f"apply -f FOLDER/{name}.yaml")
    assert (done.code in (ABSENT, REFUSED), said in done.err) == (True, True), done.err
    assert iris.types("jobs show physics/x").code == ABSENT


def test_she_plans_what_she_may_submit_and_nothing_else(iris: Submitter) -> None:
    """Where her job would go, or why nowhere; not where others' would, and no objects."""
    (iris.folder / "planned.yaml").write_text(text(a_job("planned", namespace="physics")))
    done = iris.types("plan FOLDER/planned.yaml")
    assert (done.code, "physics/planned" in done.out) == (0, True), done.err
    for name in ("elsewhere", "own-placement", "clusterqueue"):
        refused = iris.types(f"plan FOLDER/{name}.yaml")
        assert (refused.code, "iris may hand in no" in refused.err) == (REFUSED, True), refused.err


@pytest.mark.parametrize("verb", ["run -n chem --name x -- x", "submit FOLDER/elsewhere.yaml"])
def test_nothing_is_submitted_elsewhere(iris: Submitter, verb: str) -> None:
    """By whichever verb; and the colleague there has no more jobs than before."""
    done = iris.types(verb)
    assert done.code in (ABSENT, REFUSED)
    assert "namespace chem" in done.err
    with iris.hub.client() as admin:
        assert [job.name for job in admin.jobs(namespace="chem")] == ["secret"]


def test_she_is_told_the_same_beforehand(iris: Submitter) -> None:
    """`auth can-i` knows the words that she types, and ends with 1 where she may not."""
    for line, may in (
        *(("submit jobs -n physics", True), ("cancel jobs -n physics", True)),
        *(("submit jobs -n chem", False), ("get jobs -n chem", False)),
        *(("stop queues -n physics", False), ("set clusterqueues", False)),
        *(("cordon clusters", False), ("get audit", False), ("issue tokens", False)),
    ):
        done = iris.types(f"auth can-i {line}")
        assert done.code == (0 if may else 1), line
