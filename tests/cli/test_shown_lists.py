"""What each list prints: every value stands in the column of its field, and no other's."""

import json

import pytest
import yaml

from roadstead.models.checks import OpenCheck
from roadstead.models.clusters import Cluster
from roadstead.models.hub import Person
from roadstead.models.jobs import Event, Job
from roadstead.models.placements import DriftedField, Placement
from roadstead.models.queues import ClusterQueue, PendingWorkload
from tests.cli.commands import Ran, run
from tests.cli.filled import LATER, WORKLOAD, filled
from tests.cli.scripted import Answer, answering, items

ROOM = {
    name: {"free": f"{n}500m", "allocatable": f"{n}9", "reserved": "1"}
    for n, name in enumerate(("cpu", "memory", "nvidia.com/gpu"), 1)
}
PENDING = filled(
    PendingWorkload,
    metadata={
        "name": "w",
        "namespace": "ns",
        "creationTimestamp": LATER,
        "ownerReferences": [{"kind": "Job", "name": "train"}],
    },
)
ACTIVE = [
    {"type": "LimitsEnforced", "status": "no"},
    {"type": "Active", "status": "yes"},
    {"type": "Other", "status": "perhaps"},
]
SHOWN: list[tuple[str, list[Answer], str]] = [
    (
        "jobs ls -o wide",
        [items(filled(Job, createdAt=LATER, finishedAt=None))],
        """\
NAMESPACE  KIND  NAME  QUEUE  OWNER  STATE  REASON  CLUSTER  AGE  UID  EPOCH  STARTED                   \
FINISHED  REQUESTS
namespace  kind  name  queue  owner  state  reason  cluster  0s   uid  11     2020-01-14T00:00:00.000Z  \
-         of-requests k-requests
""",
    ),
    (
        "events -o wide",
        [items(filled(Event, at=LATER))],
        """\
AGE  TYPE  REASON  OBJECT               MESSAGE
0s   type  reason  kind namespace/name  message
""",
    ),
    (
        "workloads ls -o wide",
        [items(WORKLOAD)],
        """\
NAMESPACE  NAME  QUEUE      RESERVED IN   ADMITTED  FINISHED  CLUSTER      AGE
ns         w     queueName  clusterQueue  Unknown   False     clusterName  0s
""",
    ),
    (
        "checks ls -o wide",
        [items(filled(OpenCheck, at=LATER))],
        """\
CHECK  JOB                 STATE  QUEUE         CLUSTER  CONTROLLER      AGE  SAYS
name   namespace/workload  state  clusterQueue  cluster  controllerName  0s   message
""",
    ),
    (
        "queues ls -o wide",
        [items(filled(ClusterQueue, conditions=ACTIVE))],
        """\
NAME  STRATEGY  COHORT  USED                   PENDING  ADMITTED  ACTIVE  WEIGHT  SHARE  LOCALQUEUES
name  strategy  cohort  resource used/nominal  8        10        yes     weight  1.2 %  namespace/name
""",
    ),
    (
        "queues pending q -o wide",
        [items(PENDING)],
        """\
POSITION  JOB       PRIORITY  LOCALQUEUE      IN LOCALQUEUE  WORKLOAD  AGE
5         ns/train  2         localQueueName  6              w         0s
""",
    ),
    (
        "clusters ls -o wide",
        [items(filled(Cluster, heartbeatAt=LATER, resources=ROOM))],
        """\
NAME  STATE  NODES  CPU FREE  MEMORY FREE  GPU FREE  JOBS  HEARTBEAT  VERSION            AGENT         \
LINK                            LABELS
name  state  10     1.5/19    2.5/29       3.5/39    9     0s         kubernetesVersion  agentVersion  \
plain HTTP, client certificate  k-labels=of-labels
""",
    ),
    (
        "placements ls -o wide",
        [items(filled(Placement, createdAt=LATER, policy={"placementType": "p"}))],
        """\
NAMESPACE  NAME  POLICY  SELECTED  CLUSTERS     STATE         AGE
namespace  name  p       1         clusterName  type: reason  0s
""",
    ),
    (
        "drift ls -o wide",
        [items(filled(DriftedField, hub="hub", member="member", firstSeen=LATER, lastSeen=LATER))],
        """\
CLUSTER  KIND  OBJECT          PATH  HUB  MEMBER  SINCE  TOLD  GENERATION  ENVELOPE
cluster  kind  namespace/name  path  hub  member  0s     0s    11          type/namespace/name
""",
    ),
    (
        "tokens ls -o wide",
        [items(filled(Person, createdAt=LATER))],
        """\
ROLE  NAME  GROUPS  AGE
role  name  groups  0s
""",
    ),
]


def asked(line: str, answers: list[Answer]) -> Ran:
    with answering(*answers) as script:
        return run("--server", script.address, *line.split())


@pytest.mark.parametrize(("line", "answers", "shown"), SHOWN)
def test_every_value_stands_in_its_column(line: str, answers: list[Answer], shown: str) -> None:
    """Of an answer all of whose fields differ, for people."""
    assert asked(line, answers).out == shown


@pytest.mark.parametrize(("line", "answers"), [(line, answers) for line, answers, _ in SHOWN])
def test_programs_get_the_items_as_the_hub_gave_them(line: str, answers: list[Answer]) -> None:
    """Whole, as JSON and as YAML."""
    given = {"items": answers[0].body["items"]}
    assert json.loads(asked(line.replace("wide", "json"), answers).out) == given
    assert yaml.safe_load(asked(line.replace("wide", "yaml"), answers).out) == given
