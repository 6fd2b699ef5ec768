"""What each page prints of one thing: every value stands where its field's does, and no other's."""

import json

import pytest
import yaml

from roadstead.models.checks import JobChecks
from roadstead.models.clusters import Cluster
from roadstead.models.hub import HubCluster
from roadstead.models.jobs import Event, WholeJob
from roadstead.models.placements import Placement
from roadstead.models.queues import ClusterQueue, LocalQueue
from tests.cli.commands import Ran, run
from tests.cli.filled import LATER, WORKLOAD, filled
from tests.cli.scripted import Answer, answering, items

QUEUE = filled(ClusterQueue, reserving=40)
CLUSTER = filled(
    Cluster, workKinds=[], heartbeatAt=LATER, taints=[{"key": "k", "value": "v", "effect": "e"}]
)
LWS = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
KINDS = [
    {"apiVersion": "batch/v1", "kind": "Job", "state": "Served", "remedy": ""},
    {**LWS, "state": "NotServed", "remedy": "install it"},
    {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "state": "NotServed",
        "remedy": "install it",
    },
    {"apiVersion": "ray.io/v1", "kind": "RayJob", "state": "RightMissing", "remedy": "grant it"},
]
OLD = [
    {"apiVersion": "batch/v1", "kind": "Job", "state": "Unknown", "remedy": ""},
    {**LWS, "state": "AgentTooOld", "remedy": "upgrade it"},
]
BARE = {"name": "name", "state": "state"}
SHOWN: list[tuple[str, list[Answer], str]] = [
    (
        "jobs show u",
        [Answer(filled(WholeJob)), items(filled(Event))],
        """\
namespace/name
  uid       uid
  state     state  reason
            message
  queue     queue  (ClusterQueue clusterQueue)
  cluster   cluster  (epoch 11)
  pods      1 active, 2 ready, 3 succeeded, 4 failed; 25 to complete
  asks for  of-requests k-requests
  created   2020-01-13T00:00:00.000Z  by owner
  started   2020-01-14T00:00:00.000Z
  finished  2020-01-15T00:00:00.000Z
  after name, which is condition: state (ended)
  cluster had its last contact 2020-01-04T00:00:00.000Z (policy)
    - choices
  epoch 2 was left behind in cluster, which is to withdraw it; ran beside a later one; 4 pods when last seen
  evicted   k-evictions 36
  events
    2020-01-03T00:00:00.000Z  reason: message
Logs: roadstead logs namespace/name
Why? roadstead explain namespace/name
""",
    ),
    (
        "jobs show u",
        [
            Answer(
                filled(
                    WholeJob,
                    state="Pending",
                    message="",
                    epoch=0,
                    cluster="",
                    clusterQueue="",
                    counts={},
                    annotations={"roadstead.dev/submitted-by": "ann"},
                )
            ),
            items(),
        ],
        """\
namespace/name
  uid       uid
  state     Pending  reason
  queue     queue
  cluster   -
  pods      none yet; 25 to complete
  asks for  of-requests k-requests
  created   2020-01-13T00:00:00.000Z  by owner
  started   2020-01-14T00:00:00.000Z
  finished  2020-01-15T00:00:00.000Z
  after name, which is condition: state (ended)
  cluster had its last contact 2020-01-04T00:00:00.000Z (policy)
    - choices
  epoch 2 was left behind in cluster, which is to withdraw it; ran beside a later one; 4 pods when last seen
  evicted   k-evictions 36
  not before 2020-02-03T00:00:00.000Z
Why? roadstead explain namespace/name
""",
    ),
    (
        "workloads show ns/w",
        [Answer(WORKLOAD)],
        """\
Workload ns/w
  of           Job train
  queue        queueName
  priority     7
  active       false
  reserved in  clusterQueue
  cluster      clusterName
  not before   requeueAt
  check check Pending soon
  Admitted=Unknown  r1: m1
  Finished=False  r2: m2
""",
    ),
    (
        "queues show q",
        [Answer(QUEUE)],
        """\
ClusterQueue name
  strategy  strategy
  cohort    cohort
  state     state
  pending   8
  admitted  10
  weight    weight
  share     1.2 % (what it borrows of its cohort, by its weight)
  reserved  30 more, whose admission checks are open
  type=status  reason: message
  accepted, not yet enforced: notEnforced

  RESOURCE  FLAVOR  USED  BORROWED  NOMINAL  AVAILABLE  MAY BORROW      MAY LEND
  resource  flavor  used  borrowed  nominal  available  borrowingLimit  lendingLimit

  LOCALQUEUE      PENDING  ADMITTED  WEIGHT  USED OF LATE
  namespace/name  6        8         1       -
""",
    ),
    (
        "queues show ns/q",
        [Answer(filled(LocalQueue))],
        """\
LocalQueue namespace/name
  cluster queue  clusterQueue
  pending        6
  admitted       8
  weight         1
  used of late   -
  type=status  reason: message
""",
    ),
    (
        "clusters show c",
        [Answer(CLUSTER)],
        """\
name  state
  heartbeat  0s ago
  version    kubernetesVersion
  agent      agentVersion, protocol 20, hub hubVersion, credential for 0s, plain HTTP, client certificate
  labels     k-labels=of-labels
  taints     k=v:e
  jobs       9

  RESOURCE     FREE  ALLOCATABLE  RESERVED
  k-resources  free  allocatable  reserved

  NODES  LABELS              TAINTS
  3      k-labels=of-labels  taints

  POOL  MAY ADD  OF                            LABELS
  name  4        k-allocatable=of-allocatable  k-labels=of-labels

  PROPERTY      VALUE
  k-properties  of-properties

Invalid properties
  propertyFaults

  Its agent's account may not create Jobs (403) in: jobsForbiddenIn
  Their jobs go elsewhere. Grant it verb create on jobs.batch, as ClusterRole roadstead-agent-jobs does

Of another incarnation of the hub, left alone until you delete them there
  message (uid uid)
""",
    ),
    (
        "clusters show c",
        [Answer(BARE)],
        """\
name  state
  heartbeat  none yet
  version    -
  agent      -
  labels     -
  taints     -
  jobs       0
""",
    ),
    (
        "clusters show c",
        [Answer({**BARE, "workKinds": KINDS})],
        """\
name  state
  heartbeat  none yet
  version    -
  agent      -
  labels     -
  taints     -
  jobs       0

Kinds of work
  served: Job (batch/v1)
  not served: LeaderWorkerSet (leaderworkerset.x-k8s.io/v1), RayCluster (ray.io/v1)
    install it
  right missing: RayJob (ray.io/v1)
    grant it
""",
    ),
    (
        "clusters show c",
        [Answer({**BARE, "workKinds": OLD})],
        """\
name  state
  heartbeat  none yet
  version    -
  agent      -
  labels     -
  taints     -
  jobs       0

Kinds of work
  served: none
  agent too old: LeaderWorkerSet (leaderworkerset.x-k8s.io/v1)
    upgrade it
  not told yet: Job (batch/v1)
""",
    ),
    (
        "clusters show c",
        [Answer({**BARE, "workKinds": [KINDS[0] | {"state": "Unknown"}]})],
        """\
name  state
  heartbeat  none yet
  version    -
  agent      -
  labels     -
  taints     -
  jobs       0
""",
    ),
    (
        "placements show p",
        [Answer(filled(Placement))],
        """\
kind namespace/name
  type=status  reason: message

  selected: kind namespace/name in type namespace/name

  clusterName
    type=status  reason: message
    failed: kind namespace/name in type namespace/name
      type=status  reason: message
    drifted: kind namespace/name in type namespace/name
      path: hub valueInHub, member valueInMember
    differs: kind namespace/name in type namespace/name
      path: hub valueInHub, member valueInMember
""",
    ),
    (
        "hub-cluster show",
        [Answer(filled(HubCluster, running=False))],
        """\
Hub cluster uid
Jobs there: jobs: jobsMessage
Jobs that came by REST: jobsShown
Mirrors there: mirrors
The bridge has stopped: reason: message
To resume: roadstead hub-cluster resume reason
Then resuming.
""",
    ),
    (
        "hub-cluster show",
        [Answer(filled(HubCluster, running=False, resuming="", uid=""))],
        """\
Hub cluster (not reached yet)
Jobs there: jobs: jobsMessage
Jobs that came by REST: jobsShown
Mirrors there: mirrors
The bridge has stopped: reason: message
""",
    ),
    (
        "hub-cluster show",
        [Answer(filled(HubCluster))],
        """\
Hub cluster uid
Jobs there: jobs: jobsMessage
Jobs that came by REST: jobsShown
Mirrors there: mirrors
The bridge is running.
""",
    ),
    (
        "hub-cluster show",
        [Answer(filled(HubCluster, running=False, reason="HubClusterSilent"))],
        """\
Hub cluster uid
It does not answer: message
The bridge resumes when it does.
""",
    ),
    (
        "hub-cluster show",
        [Answer(filled(HubCluster, running=False, reason="HubClusterStarting"))],
        """\
Hub cluster uid
Jobs there: jobs: jobsMessage
Jobs that came by REST: jobsShown
Mirrors there: mirrors
The bridge is starting: message.
""",
    ),
    ("hub-cluster show", [Answer(filled(HubCluster, reason=""))], "The hub has no hub cluster.\n"),
    (
        "checks set u check ready",
        [Answer(filled(JobChecks))],
        """\
CHECK  STATE  CONTROLLER      SAYS
name   state  controllerName  message
""",
    ),
]


def asked(line: str, answers: list[Answer]) -> Ran:
    with answering(*answers) as script:
        return run("--server", script.address, *line.split())


@pytest.mark.parametrize(("line", "answers", "shown"), SHOWN)
def test_every_value_stands_in_its_place(line: str, answers: list[Answer], shown: str) -> None:
    """Of an answer all of whose fields differ, for people."""
    assert asked(line, answers).out == shown


@pytest.mark.parametrize(("line", "answers"), [(line, answers) for line, answers, _ in SHOWN])
def test_programs_get_it_as_the_hub_gave_it(line: str, answers: list[Answer]) -> None:
    """Whole, as JSON and as YAML; a job with its events."""
    given = answers[0].body
    if line.startswith("jobs show"):
        given = given | {"events": answers[1].body["items"]}
    assert json.loads(asked(f"{line} -o json", answers).out) == given
    assert yaml.safe_load(asked(f"{line} -o yaml", answers).out) == given


def test_pods_of_another_kind_are_counted_by_how_many_run_at_once() -> None:
    """A JobSet or a RayJob has no number of pods to complete."""
    changed = {"kind": "JobSet", "completions": None, "parallelism": 3, "counts": {}}
    told = asked("jobs show u", [Answer({**filled(WholeJob), **changed}), items()]).out
    assert "  pods      none yet; 3 at once\n" in told
