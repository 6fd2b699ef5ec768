"""Jobs that members hold from before the store was restored: taken over again, or removed, by decision.

Whoever adopts one says that it is this Job which counts. The store takes on the epoch that it carries, and
the cluster that it is in, with quota charged as if it had been admitted there; its agent finds it as it
should be, and what it says from then on is the job's state. It stays doubtful: it is never made anew, and
once it is gone the job is held, in an epoch beyond all that were given
(docs/explain/exactly-once.md, rules 12 and 13).
"""

from dataclasses import replace
from typing import Final

from hub.domain.quota.declared import read_cluster_queue, read_local_queue
from hub.domain.workloads import shape
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import TERMINAL, State, Transition
from hub.services.consent import identity
from hub.services.context.settings import Intake
from hub.services.jobs.accept import submit_jobs
from hub.services.kinds.declared_kinds import NONE, DeclaredKinds
from hub.services.members import forgotten
from hub.services.members.forgotten import ForgottenJob, ManifestState
from hub.services.queues.defaults import DEFAULT, ensure_default_queue, provides_default
from hub.services.reading.draft import draft
from hub.services.works import accounted
from hub.store import audit, clusters, doubts, manifests, objects, workloads, works
from hub.store.records.history import EventFacts
from hub.store.records.workloads import Workload
from hub.store.records.works import WantedWork
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.dispatched import is_dispatched
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.registry import parse_own_job
from shared.labels import QUEUE_NAME
from shared.reject_codes import RejectCode

ADOPTED: Final = "Adopted"
INTAKE: Final = Intake()
_WAITS: Final = frozenset({State.HELD, State.PENDING, State.DEACTIVATED})


def adopt_job(
    tx: Transaction,
    uid: str,
    cluster: str,
    principal: str,
    intake: Intake = INTAKE,
    owner: str = "",
    kinds: DeclaredKinds = NONE,
) -> Json:
    """Take over the Job of this uid that `cluster` holds ("": the one cluster that does).

    One that the hub has forgotten altogether is submitted again, as its member says that it was written;
    `owner`: whose it then is, for members are not told ("": unknown, and no submitter may end it). A job that
    the hub has keeps its owner, so none is named then.
    Raises Rejected: NotFound, where no member holds it, or its manifest is too large; ManifestAwaited;
    InvalidState where several hold it, or the job is somewhere else; AlreadyEnded; and what
    `submit_jobs` refuses.
    """
    left = forgotten.find(tx, uid, cluster)
    known = workloads.get_many(tx, [uid]).get(uid)
    if known is not None and owner and owner != known.owner:
        raise Rejected(RejectCode.INVALID_STATE, _owned(known, owner), "owner")
    row = known or _submitted(tx, uid, left, intake, owner, kinds)
    _refuse(tx, row, left)
    former, restored = left.get("namespaceId", ""), accounted.restored_at(tx)
    if identity.restore(tx, row.namespace, former, restored, only=1):
        told = f"Namespace {row.namespace} has its former id {former}, as {left['cluster']} tells"
        audit.add(tx, principal, "adopt", told)
    _take_over(tx, row, left)
    forgotten.drop(tx, uid, left["cluster"])
    accounted.adopted(tx, uid, left["cluster"])
    told = f"{principal} adopted the Job that {left['cluster']} holds from before the store was restored"
    tx.say(row, ADOPTED, told, facts=EventFacts(left["cluster"], left["epoch"]))
    audit.note(tx, principal, "adopt", row)
    return {"uid": uid, "cluster": left["cluster"], "epoch": left["epoch"]}


def _owned(row: Workload, owner: str) -> str:
    name, of = (
        f"{row.namespace}/{row.name}",
        row.owner or "no user (it came without a name)",
    )
    return (
        f"the hub has job {name} still, submitted by {of}, which adopting does not change: leave the owner "
        f"{owner} out"
    )


def forget_job(tx: Transaction, uid: str, cluster: str, principal: str) -> Json:
    """Have the member that holds this Job remove it, pods first. Raises Rejected as `adopt_job` does."""
    left = forgotten.find(tx, uid, cluster)
    forgotten.remove(tx, uid, left["cluster"])
    audit.add(tx, principal, "forget", f"Job {uid} in {left['cluster']}")
    return {"uid": uid, "cluster": left["cluster"], "epoch": left["epoch"]}


def _submitted(
    tx: Transaction,
    uid: str,
    left: ForgottenJob,
    intake: Intake,
    owner: str,
    kinds: DeclaredKinds,
) -> Workload:
    """The job as a new one, under the uid that it had."""
    found, manifest = forgotten.manifest_of(tx, uid, left["cluster"])
    if found is ManifestState.AWAITED:
        text = (
            f"the hub has forgotten this job altogether, and {left['cluster']} has yet to report its "
            "manifest: try again in some seconds (column MANIFEST of roadstead restored says Reported then)"
        )
        raise Rejected(RejectCode.MANIFEST_AWAITED, text)
    if manifest is None:
        text = (
            "the hub has forgotten this job altogether, and its manifest is too large to be kept: the job "
            "can be removed there (roadstead admin forget), or left to its end"
        )
        raise Rejected(RejectCode.NOT_FOUND, text)
    of = manifest.get("apiVersion"), manifest.get("kind")
    if is_dispatched(*of) or of in kinds:
        manifest = _in_default_queue(manifest)
    restored = accounted.restored_at(tx) or tx.now
    given = replace(
        draft(
            parse_own_job(manifest, declared=kinds), restored, uid=uid, kinds=kinds, stands=True
        ),
        may_set_priority=True,
        submitted_by=owner,
    )
    if intake.unqueued_jobs == "Auto":  # it runs already
        intake = replace(intake, unqueued_jobs="Default")
    if given.form is not None and provides_default(tx, intake.unqueued_jobs):
        asked = {name for each in given.parsed.pod_sets for name in each.requests}
        ensure_default_queue(tx, {given.parsed.namespace}, asked)
    (answer,) = submit_jobs(tx, [given], intake, strict=False)
    if isinstance(answer, Rejected):
        raise answer
    return answer


def _in_default_queue(manifest: Json) -> Json:
    """An object of another kind than Job, in the queue that a Job without one gets.

    Its own was taken off on the way to the member, and without one it would be no work.
    """
    metadata: Json = manifest.get("metadata") or {}
    marks: Json = {QUEUE_NAME: DEFAULT, **(metadata.get("labels") or {})}
    return {**manifest, "metadata": {**metadata, "labels": marks}}


def _refuse(tx: Transaction, row: Workload, left: ForgottenJob) -> None:
    name = f"{row.namespace}/{row.name}"
    if row.state in TERMINAL - {State.DEACTIVATED}:
        raise Rejected(RejectCode.ALREADY_ENDED, f"job {name} is {row.state}")
    if row.state not in _WAITS or works.of_uids(tx, [row.uid]):
        text = (
            f"job {name} is {row.state} in {row.cluster or 'no cluster'}: hold it first, and wait"
        )
        raise Rejected(RejectCode.INVALID_STATE, text)
    if left["epoch"] < 1 or clusters.get(tx, left["cluster"]) is None:
        raise Rejected(RejectCode.INVALID_STATE, f"{left['cluster']} can not hold it")


def _take_over(tx: Transaction, row: Workload, left: ForgottenJob) -> None:
    """Release, place and offer, in the epoch that the Job has."""
    uid, epoch, cluster = row.uid, left["epoch"], left["cluster"]
    options = ApplyOptions(doubtful=True)
    workloads.change(tx, [{"uid": uid, "epoch": epoch - 1}])
    if row.state != State.PENDING:
        workloads.transition(tx, Transition.RELEASE, [{"uid": uid, "epoch": epoch - 1}])
    queue, admission = _admission(tx, row)
    placed = {"cluster": cluster, "cluster_queue": queue, "admission": admission, "scores": None}
    workloads.transition(
        tx,
        Transition.PLACE,
        [{"uid": uid, "epoch": epoch - 1, **placed}],  # type: ignore[typeddict-item]  # of the move
    )
    wanted = WantedWork(
        cluster=cluster,
        uid=uid,
        epoch=epoch,
        generation=row.generation,
        api_version=row.api_version,
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        options=options,
        placed_by="",
    )
    works.upsert(tx, [wanted])
    works.offer(tx, [{"cluster": cluster, "uid": uid, "options": options, "hash": ""}])
    tx.touch(workloads.TERMS, uid)  # quota is charged without a plan
    doubts.mark(tx, doubts.given_in(tx, [State.PLACED], [uid]))
    workloads.transition(tx, Transition.OFFER, [{"uid": uid, "epoch": epoch}])


def _admission(tx: Transaction, row: Workload) -> tuple[str, Json | None]:
    """Its ClusterQueue, and what it is charged there: the first flavor that covers each resource.

    In which flavor it was admitted is lost; that it is more than the quota does not matter, for it runs.
    """
    found = objects.find(tx, KUEUE, "LocalQueue", row.namespace, row.queue)
    if found is None:
        return "", None
    name = read_local_queue(row.namespace, row.queue, found.spec).cluster_queue
    declared = objects.find(tx, KUEUE, "ClusterQueue", "", name)
    if declared is None:
        return "", None
    queue = read_cluster_queue(name, declared.labels, declared.spec or {})
    pod_sets = shape.decode(manifests.get_shapes(tx, [row.shape])[row.shape])
    told = []
    for pod_set in pod_sets:
        usage = {
            resource: amount
            for resource, amount in pod_set.total().items()
            if queue.group_of(resource) is not None
        }
        flavors = {
            resource: group.flavors[0]
            for resource in usage
            if (group := queue.group_of(resource)) is not None
        }
        told.append(
            {"name": pod_set.name, "count": pod_set.count, "flavors": flavors, "usage": usage}
        )
    return name, {"podSets": told}
