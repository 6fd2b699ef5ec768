"""What each verb that acts prints: what became of it, as the hub answers, and nothing else."""

import json
from typing import Any

import pytest
import yaml

from roadstead.models.clusters import Cluster, DeclaredCluster, Fenced, JoinToken, Leftover
from roadstead.models.hub import HubCluster, IssuedToken, Person, Restored
from roadstead.models.jobs import WholeJob
from roadstead.models.objects import Deleted
from tests.cli.commands import Ran, run
from tests.cli.filled import LATER, filled
from tests.cli.scripted import Answer, answering, items

JOB = Answer(filled(WholeJob))
LEAVING = Answer(filled(WholeJob, finishedAt=None, state="Withdrawing"))
CANCELLED = Answer(filled(WholeJob, state="Cancelled"))
WAITING = Answer(filled(WholeJob, finishedAt=None, state="Pending"))
CHECK = Answer({"metadata": {"name": "c"}})
SHOWN: list[tuple[str, list[Answer], str, str]] = [
    ("jobs cancel u", [JOB], "namespace/name had ended already: state\n", ""),
    ("jobs cancel u", [LEAVING], "namespace/name Withdrawing from cluster\n", ""),
    ("jobs cancel u", [CANCELLED], "namespace/name Cancelled\n", ""),
    ("jobs cancel u", [WAITING], "namespace/name Pending\n", ""),
    ("jobs hold u", [JOB], "namespace/name state\n", ""),
    ("jobs hold u", [LEAVING], "namespace/name Withdrawing from cluster, then withdrawTo\n", ""),
    ("jobs hold u", [CANCELLED], "namespace/name Cancelled\n", ""),
    ("jobs hold u", [WAITING], "namespace/name Pending\n", ""),
    ("jobs release u", [JOB], "namespace/name state\n", ""),
    (
        "jobs release u",
        [LEAVING],
        "namespace/name Withdrawing from cluster, then withdrawTo\n",
        "",
    ),
    ("jobs release u", [CANCELLED], "namespace/name Cancelled\n", ""),
    ("jobs release u", [WAITING], "namespace/name Pending\n", ""),
    ("jobs delete u", [JOB], "namespace/name is deleted; its name is free\n", ""),
    (
        "jobs delete u",
        [LEAVING],
        """\
namespace/name is being withdrawn from cluster, then its name is free
""",
        "",
    ),
    ("jobs delete u", [CANCELLED], "namespace/name is deleted; its name is free\n", ""),
    ("jobs delete u", [WAITING], "namespace/name is deleted; its name is free\n", ""),
    (
        "delete job ns/j",
        [Answer(filled(WholeJob, state="Withdrawing"))],
        "Job ns/j is being withdrawn from cluster\n",
        "",
    ),
    ("delete job ns/j", [JOB], "Job ns/j deleted\n", ""),
    ("delete workload ns/w", [JOB], "Workload ns/w deleted\n", ""),
    ("delete cq q", [Answer(filled(Deleted, members=[]))], "ClusterQueue q result\n", ""),
    (
        "delete configmap x -n ns",
        [Answer(filled(Deleted, members=[]))],
        "ConfigMap ns/x result\n",
        "",
    ),
    (
        "restored",
        [Answer(filled(Restored, items=[filled(Leftover, seenAt=LATER)], objects=[]))],
        """\
stopped
No contact since then: awaited
owing has not reported its Jobs since the restore: until it does, earlier jobs
  stay held, and you cannot remove the cluster. Wait for its agent. If the cluster
  is destroyed: roadstead clusters fence owing --destroyed
Jobs in members from before the restore, left alone:
CLUSTER  JOB   UID  EPOCH  THERE  HERE   MANIFEST  DECIDED  SEEN
cluster  name  uid  4      there  state  manifest  decided  0s
""",
        """\
Find one there: kubectl get jobs -A -l roadstead.dev/job-uid=UID
""",
    ),
    (
        "restored",
        [
            Answer(
                filled(
                    Restored,
                    objects=[],
                    stopped="",
                    items=[filled(Leftover, seenAt=LATER, name="", job="", state="")],
                )
            )
        ],
        """\
The store has not been rolled back.
No contact since then: awaited
owing has not reported its Jobs since the restore: until it does, earlier jobs
  stay held, and you cannot remove the cluster. Wait for its agent. If the cluster
  is destroyed: roadstead clusters fence owing --destroyed
Jobs in members from before the restore, left alone:
CLUSTER  JOB      UID  EPOCH  THERE  HERE     MANIFEST  DECIDED  SEEN
cluster  unknown  uid  4      there  unknown  manifest  decided  0s
""",
        """\
Find one there: kubectl get jobs -A -l roadstead.dev/job-uid=UID
""",
    ),
    ("restored", [Answer({})], "The store has not been rolled back.\n", ""),
    (
        "restored --accept",
        [Answer({"incarnation": "i2"})],
        """\
resumed under incarnation i2
Jobs that were waiting are held (Restored): release those that run nowhere.
""",
        "",
    ),
    (
        "tokens issue n",
        [Answer(filled(IssuedToken))],
        "token\n",
        "Token of role name, shown only once:\n",
    ),
    (
        "tokens revoke name",
        [items(filled(Person)), Answer(filled(Person))],
        "role name has no token now\n",
        "",
    ),
    (
        "tokens revoke n --role administrator",
        [Answer(filled(Person))],
        "administrator n has no token now\n",
        "",
    ),
    (
        "clusters token c",
        [Answer(filled(JoinToken))],
        "joinToken\n",
        """\
This token joins one agent as name, once, within 0s. On the member:
  python -m agent --hub ADDRESS --join-token FILE --credential FILE
""",
    ),
    (
        "clusters add c",
        [Answer(filled(DeclaredCluster))],
        "joinToken\n",
        """\
This token joins one agent as name, once, within 0s. On the member:
  python -m agent --hub ADDRESS --join-token FILE --credential FILE
""",
    ),
    (
        "clusters fence c --destroyed --confirm c",
        [Answer(filled(Fenced))],
        "c fenced; 2 jobs requeued\n",
        "",
    ),
    ("clusters cordon c", [Answer(filled(Cluster))], "name cordoned\n", ""),
    ("clusters uncordon c", [Answer(filled(Cluster))], "name uncordoned\n", ""),
    ("clusters rm c", [Answer({"result": "deleted"})], "c removed\n", ""),
    (
        "clusters rm c --clean",
        [Answer({"result": "deleting"})],
        "c leaves: its objects are withdrawn first\n",
        "",
    ),
    ("hub-cluster resume r", [Answer(filled(HubCluster))], "the bridge resumes: resuming\n", ""),
    (
        "hand-over cq q",
        [Answer({"uid": "u", "result": "handed-over"})],
        "ClusterQueue q now belongs to REST\n",
        "",
    ),
    (
        "hand-over job a/j --to hub-cluster",
        [Answer({"uid": "u", "result": "handing-over"})],
        "Job a/j moves to kubectl on the hub cluster within seconds\n",
        "",
    ),
    *(
        (
            f"drift {how} c configmap/x",
            [
                Answer(
                    {
                        "cluster": "c",
                        "kind": "ConfigMap",
                        "name": "x",
                        "paths": ["/a", "/b"],
                        "result": how,
                    }
                )
            ],
            f"ConfigMap default/x: {told}\n",
            "",
        )
        for how, told in (
            ("accept", "the hub now has the values of c (/a, /b)"),
            ("restore", "the hub's values are written to c again (/a, /b)"),
            ("ignore", "members keep /a, /b from now on"),
        )
    ),
    ("checks serve c", [CHECK], "check c is served\n", ""),
    ("checks serve c --off", [CHECK], "check c is no longer served\n", ""),
]


def asked(line: str, answers: list[Answer]) -> Ran:
    with answering(*answers) as script:
        return run("--server", script.address, *line.split())


@pytest.mark.parametrize(("line", "answers", "out", "err"), SHOWN)
def test_what_became_of_it_is_said(line: str, answers: list[Answer], out: str, err: str) -> None:
    """What is to be kept or piped on to standard output, the rest to standard error."""
    with answering(*answers) as script:
        done = run("--server", script.address, *line.split())
    assert (done.out, done.err.replace(script.address, "ADDRESS")) == (out, err)


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("tokens issue n", filled(IssuedToken)),
        ("clusters token c", filled(JoinToken)),
        ("clusters add c", filled(DeclaredCluster)),
        ("jobs cancel u", {"items": [filled(WholeJob)]}),
        ("jobs hold u", {"items": [filled(WholeJob)]}),
        ("jobs release u", {"items": [filled(WholeJob)]}),
        (
            "delete job ns/j",
            {
                "items": [
                    {
                        "kind": "Job",
                        "name": "j",
                        "result": "deleted",
                        "uid": "uid",
                        "state": "state",
                    }
                ]
            },
        ),
        (
            "delete wl ns/w",
            {
                "items": [
                    {
                        "kind": "Workload",
                        "name": "w",
                        "result": "deleted",
                        "uid": "uid",
                        "state": "state",
                    }
                ]
            },
        ),
        (
            "delete cq q",
            {"items": [{"kind": "ClusterQueue", "name": "q", "result": "result", "uid": "uid"}]},
        ),
    ],
)
def test_programs_get_what_the_hub_answered(line: str, given: Any) -> None:
    """Whole, as JSON and as YAML."""
    answer = given["items"][0] if "items" in given else given
    if line.startswith("delete") and "cq" not in line:
        answer = filled(WholeJob)
    assert json.loads(asked(f"{line} -o json", [Answer(answer)]).out) == given
    assert yaml.safe_load(asked(f"{line} -o yaml", [Answer(answer)]).out) == given
