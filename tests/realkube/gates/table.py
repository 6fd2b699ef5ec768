"""Who may do what with which object, in a hub cluster and in a member: read this before the code beside it.

One row is an object and some actions on it; one column is an identity. A cell says who decides:

    yes   allowed
    gate  denied by an admission policy that we ship
    role  denied by RBAC
    …*    the same, but for PUT, which the role does not grant: `role`

Identities with a `+` have every right besides their own, so that only a gate is in their way. `changes` are
all ways to change an object: update (PUT), merge, json and strategic patches, server-side apply without force
(of a field that nobody manages) and with it. `collection` is deletecollection.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.realkube.gates.requests import CHANGES

# Objects: `theirs` are of the member's people, in namespace finance, which accepts no hub. `taken` were taken
# over, in namespace lent, which accepts the hub. `created` were created by the agent, in namespace made.
# `noted` and `held` are theirs too, with one annotation or finalizer as the agent writes it, and no label. In
# lent, pods of `asking` and `silent` get a token, those of `mute` do not.
# `refused` and `accepted` carry the labels of created objects, in finance and in lent;
# the agent wrote `accepted`, and `refused` are copies that people made.
# The agent made Job `ending` in finance before its consent was withdrawn, and `working` in lent; both wait.
# `withdrawn` were created in finance or taken over before that too. `clinging` have a finalizer. `nameless`
# names no hub, in a namespace whose label accept people have emptied.
MEMBER: Final = """
object                 action          agent+  agent  hub    submitter  person  admin  tool
---------------------  --------------  ------  -----  -----  ---------  ------  -----  ----
Secret theirs          changes         gate    gate*  role   role       yes     yes    yes
Secret theirs          delete          gate    gate   role   role       yes     yes    yes
Secret theirs          collection      gate    role   role   role       yes     yes    yes
Secret theirs          create          gate    gate   role   role       yes     yes    yes
Deployment theirs      changes         gate    gate*  role   role       yes     yes    yes
Deployment theirs      scale           gate    role   role   role       yes     yes    yes
Deployment theirs      status          gate    role   role   role       role    yes    yes
Deployment theirs      delete          gate    gate   role   role       yes     yes    yes
Deployment theirs      collection      gate    role   role   role       yes     yes    yes
ServiceAccount theirs  changes         gate    gate*  role   role       yes     yes    yes
ServiceAccount theirs  delete          gate    gate   role   role       yes     yes    yes
Job theirs             changes         gate    gate*  role   role       yes     yes    yes
Job theirs             status          gate    role   role   role       role    yes    yes
Job theirs             delete          gate    gate   role   role       yes     yes    yes
Job theirs             collection      gate    role   role   role       yes     yes    yes
ConfigMap noted        changes         gate    gate*  role   role       yes     yes    yes
ConfigMap noted        delete          gate    gate   role   role       yes     yes    yes
ConfigMap held         changes         gate    gate*  role   role       yes     yes    yes
ConfigMap held         delete          gate    gate   role   role       yes     yes    yes
Job noted              changes         gate    gate*  role   role       yes     yes    yes
Job noted              delete          gate    gate   role   role       yes     yes    yes
Job held               changes         gate    gate*  role   role       yes     yes    yes
Job held               delete          gate    gate   role   role       yes     yes    yes
Job asking             create          gate    gate   role   role       role    yes    yes
Job silent             create          gate    gate   role   role       role    yes    yes
Job mute               create          yes     yes    role   role       role    yes    yes
Deployment asking      create          gate    gate   role   role       role    yes    yes
Deployment silent      create          gate    gate   role   role       role    yes    yes
Deployment mute        create          yes     yes    role   role       role    yes    yes
RoleBinding theirs     changes         gate    role   role   role       yes     yes    yes
RoleBinding theirs     delete          gate    role   role   role       yes     yes    yes
Namespace theirs       changes         gate    gate*  role   role       role    yes    yes
Namespace theirs       status          gate    role   role   role       role    yes    yes
Namespace theirs       delete          gate    gate   role   role       role    yes    yes
Secret lent            changes         gate    gate*  role   role       role    yes    yes
Secret lent            delete          gate    gate   role   role       role    yes    yes
Secret taken           changes         yes     yes*   role   role       role    yes    yes
Secret taken           delete          gate    gate   role   role       role    yes    yes
Secret taken           collection      gate    role   role   role       role    yes    yes
Secret refused         create          gate    gate   role   role       yes     yes    yes
Secret refused         changes         gate    gate*  role   role       yes     yes    yes
Secret refused         delete          gate    gate   role   role       yes     yes    yes
Job refused            changes         gate    gate*  role   role       yes     yes    yes
Job refused            delete          gate    gate   role   role       yes     yes    yes
Secret accepted        create          yes     yes    role   role       role    yes    yes
Secret accepted        delete          yes     yes    role   role       role    yes    yes
Deployment taken       changes         yes     yes*   role   role       role    yes    yes
Deployment taken       scale           gate    role   role   role       role    yes    yes
Deployment taken       delete          gate    gate   role   role       role    yes    yes
Namespace taken        changes         yes     yes*   role   role       role    yes    yes
Namespace taken        delete          gate    gate   role   role       role    yes    yes
Secret created         changes         yes     yes*   role   role       role    yes    yes
Secret created         own             gate    gate   role   role       role    yes    yes
Secret created         keep            gate    gate   role   role       role    yes    yes
Secret created         create          yes     yes    role   role       role    yes    yes
Secret created         delete          yes     yes    role   role       role    yes    yes
Secret created         collection      yes     role   role   role       role    yes    yes
Secret clinging        create          gate    gate   role   role       role    yes    yes
Secret nameless        create          gate    gate   role   role       role    yes    yes
Secret withdrawn       changes         gate    gate*  role   role       yes     yes    yes
Secret withdrawn       release         yes     yes    role   role       yes     yes    yes
Secret withdrawn       relabel         gate    gate   role   role       yes     yes    yes
PersistentVolumeClaim created create   yes     yes    role   role       role    yes    yes
Deployment created     changes         yes     yes*   role   role       role    yes    yes
Deployment created     scale           gate    role   role   role       role    yes    yes
Deployment created     status          gate    role   role   role       role    yes    yes
Deployment created     delete          yes     yes    role   role       role    yes    yes
Job created            changes         yes     yes*   role   role       role    yes    yes
Job created            create          yes     yes    role   role       role    yes    yes
Job created            status          gate    role   role   role       role    yes    yes
Job created            delete          yes     yes    role   role       role    yes    yes
Job created            collection      yes     role   role   role       role    yes    yes
Job ending             start           gate    gate   role   role       yes     yes    yes
Job ending             grow            gate    gate   role   role       yes     yes    yes
Job ending             other nodes     gate    gate   role   role       yes     yes    yes
Job ending             more tries      gate    gate   role   role       yes     yes    yes
Job ending             more time       gate    gate   role   role       yes     yes    yes
Job ending             no deadline     gate    gate   role   role       yes     yes    yes
Job ending             give away       gate    gate   role   role       yes     yes    yes
Job ending             note            yes     yes    role   role       yes     yes    yes
Job ending             delete          yes     yes    role   role       yes     yes    yes
Job working            start           yes     yes    role   role       role    yes    yes
Job working            grow            yes     yes    role   role       role    yes    yes
Job working            other nodes     yes     yes    role   role       role    yes    yes
Job working            more tries      yes     yes    role   role       role    yes    yes
Job working            give away       gate    gate   role   role       role    yes    yes
Job working            own             gate    gate   role   role       role    yes    yes
Job working            keep            gate    gate   role   role       role    yes    yes
Namespace lent         changes         gate    gate*  role   role       role    yes    yes
Namespace lent         delete          gate    gate   role   role       role    yes    yes
Namespace created      changes         yes     yes*   role   role       role    yes    yes
Namespace created      own             gate    gate   role   role       role    yes    yes
Namespace created      keep            gate    gate   role   role       role    yes    yes
Namespace created      pin             gate    gate   role   role       role    yes    yes
Namespace created      delete          yes     yes    role   role       role    yes    yes
Namespace withdrawn    changes         gate    gate*  role   role       role    yes    yes
Namespace withdrawn    pin             gate    gate   role   role       role    yes    yes
Namespace withdrawn    release         yes     yes    role   role       role    yes    yes
Namespace withdrawn    relabel         gate    gate   role   role       role    yes    yes
PriorityClass taken    changes         yes     role   role   role       role    yes    yes
PriorityClass withdrawn changes        gate    role   role   role       role    yes    yes
PriorityClass withdrawn release        yes     role   role   role       role    yes    yes
PriorityClass withdrawn relabel        gate    role   role   role       role    yes    yes
ConfigMap system       create          gate    gate   role   role       role    yes    yes
ConfigMap system       changes         gate    gate*  role   role       role    yes    yes
ConfigMap system       delete          yes     yes    role   role       role    yes    yes
ClusterRole theirs     changes         gate    role   role   role       role    yes    yes
ClusterRole theirs     delete          gate    role   role   role       role    yes    yes
"""

# Objects of namespace team: `marked` is a Job with spec.managedBy, as Kubernetes knows it from 1.32 on;
# `suspended` one without, which the hub has taken; `foreign` a suspended Job without a queue; `mirror` shows
# what came by REST. With a queue, `elsewhere` names the cluster's own Job controller in spec.managedBy,
# `owned` has another Job as its controller, and `bogus` an owner of a kind that is not served.
HUB_CLUSTER: Final = """
object                 action          hub+    hub    agent  submitter  person  admin  tool
---------------------  --------------  ------  -----  -----  ---------  ------  -----  ----
Job marked             changes         yes     yes*   role   yes        role    yes    yes
Job marked             create          gate    gate   role   yes        role    yes    yes
Job marked             status          yes     yes    role   role       role    yes    yes
Job marked             delete          yes     yes    role   yes        role    yes    yes
Job marked             collection      yes     role   role   role       role    yes    yes
Job suspended          changes         yes     yes*   role   yes        role    yes    yes
Job suspended          create          gate    gate   role   yes        role    yes    yes
Job suspended          delete          yes     yes    role   yes        role    yes    yes
Job suspended          start           gate    gate   role   gate       role    gate   gate
Job suspended          unqueue         yes     yes    role   gate       role    gate   gate
Job suspended          name another    yes     yes    role   gate       role    gate   gate
Job marked             unqueue         yes     yes    role   gate       role    gate   gate
Job marked             name another    yes     yes    role   gate       role    gate   gate
Job marked             mark as mirror  yes     yes    role   gate       role    gate   gate
Job foreign            changes         gate    gate*  role   yes        role    yes    yes
Job foreign            status          gate    gate   role   role       role    yes    yes
Job foreign            delete          gate    gate   role   yes        role    yes    yes
Job foreign            collection      gate    role   role   role       role    yes    yes
Job foreign            start           gate    gate   role   yes        role    yes    yes
Job foreign            mark as mirror  gate    gate   role   gate       role    gate   gate
Job elsewhere          create          gate    gate   role   gate       role    gate   gate
Job owned              create          gate    gate   role   gate       role    gate   gate
Job bogus              create          gate    gate   role   gate       role    yes    yes
Namespace theirs       manage          gate    role   role   role       role    yes    yes
Job mirror             changes         yes     yes*   role   gate       role    gate   gate
Job mirror             status          yes     yes    role   role       role    yes    yes
Job mirror             create          yes     yes    role   gate       role    gate   gate
Job mirror             delete          yes     yes    role   gate       role    gate   gate
Job mirror             collection      yes     role   role   role       role    gate   gate
Job mirror             start           gate    gate   role   gate       role    gate   gate
LocalQueue mirror      changes         yes     yes    role   role       role    gate   gate
LocalQueue mirror      create          yes     yes    role   role       role    gate   gate
LocalQueue mirror      delete          yes     yes    role   role       role    gate   gate
LocalQueue mirror      collection      yes     role   role   role       role    gate   gate
LocalQueue theirs      changes         yes     yes    role   role       role    yes    yes
LocalQueue theirs      mark as mirror  yes     yes    role   role       role    gate   gate
LocalQueue theirs      delete          yes     yes    role   role       role    yes    yes
Secret theirs          changes         yes     role   role   role       role    yes    yes
Secret theirs          delete          yes     role   role   role       role    yes    yes
"""


@dataclass(frozen=True)
class Row:
    """One action on one object; `cells` has the verdict for each identity."""

    obj: str
    action: str
    cells: dict[str, str]

    def __str__(self) -> str:
        """The test's id."""
        return f"{self.obj}: {self.action}".replace(" ", "-")


def rows(table: str) -> Iterator[Row]:
    """The rows of a table; `changes` is one row for each way to change an object."""
    head, _, *lines = table.strip().splitlines()
    columns = head.split()[2:]
    for line in lines:
        words = line.split()
        cells = dict(zip(columns, words[-len(columns) :], strict=True))
        kind, name, *action = words[: -len(columns)]
        named = " ".join(action)
        for each in CHANGES if named == "changes" else (named,):
            if (kind, each) != ("LocalQueue", "strategic"):  # no custom kind has such patches
                found = {who: _cell(cell, each) for who, cell in cells.items()}
                yield Row(f"{kind} {name}", each, found)


def _cell(cell: str, action: str) -> str:
    return "role" if cell.endswith("*") and action == "update" else cell.removesuffix("*")
