"""Drafts: manifests that have been read, cleaned of what servers write, and hashed.

The same cleaning for every way in, so that an object read back from the hub cluster equals the one
that was applied there, whatever its API server wrote around it.
"""

import datetime as dt
import hashlib
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from hub.domain.access import EVERYTHING, Scope
from hub.domain.workloads.demand import CLUSTER_SELECTOR
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.shape import encode, shape_hash
from hub.domain.workloads.work_form import WorkForm
from hub.services.context.ids import generated_name, new_uid
from hub.services.kinds import definitions
from hub.services.kinds.declared_kinds import NONE, DeclaredKinds
from hub.services.reading.cron_jobs import read_cron_job
from hub.services.reading.work_kinds import ReadWork, read_work, refused_if_new
from shared import labels as keys
from shared.documents import Json
from shared.errors import Rejected
from shared.generated import clean_template
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.metadata import controllers_of
from shared.kinds.parsed import Parsed
from shared.secrecy import LAST_APPLIED
from shared.selectors import parse_selector

# What kubectl notes, and what a cluster's own controllers count: the second revision that a change of a
# Deployment would make is none of anybody's.
_NOT_DECLARED: Final = frozenset(
    {
        LAST_APPLIED,
        "deployment.kubernetes.io/revision",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
    }
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A manifest on its way in. `uid` is its hub-cluster uid, or new. `index` is its place in a list.

    `submitted_by`: the sender by REST; objects from the hub cluster carry it themselves.
    `resource_version`: the declaration that it is to replace, and no other; "": any. `sees`: the jobs that
    exist for the sender. `may_set_priority`: its sender administers its queue, and may give it a
    priority that no class says. `priority_classes`: those that its sender may name; None: all.
    `priority_from`: who answers for the priority number of a bare Workload. `within_quotas`: its sender may
    not change ClusterQueues, and so makes no LocalQueue outside their quotas. `form`: of work that is no Job,
    how it is written into a member. `schedule`, `child`: of a CronJob that the hub runs, its spec without the
    Job template, and the Job of one run. `refused_if_new`: why it is refused, unless its spec stands already
    (`taken_before.judged`).
    """

    parsed: Parsed
    manifest: Json
    body: bytes
    hash: str
    name: str
    uid: str
    origin: str
    created_at: dt.datetime | None = None  # of a hub cluster's object: its creationTimestamp
    index: int = 0
    submitted_by: str = ""
    resource_version: str = ""
    sees: Scope = EVERYTHING
    may_set_priority: bool = False
    priority_classes: frozenset[str] | None = None
    priority_from: str = ""
    hub_cluster_uid: str | None = None  # of a Namespace that the hub cluster has
    within_quotas: bool = False
    form: WorkForm | None = None
    schedule: Json | None = None
    child: "Draft | None" = None
    refused_if_new: Rejected | None = None

    @property
    def is_job(self) -> bool:
        """Is it work that members run: a Job, or another kind that the hub dispatches and that is queued?"""
        return self.form is not None or (
            self.parsed.kind == "Job" and self.parsed.group == "batch"
        )

    @property
    def form_json(self) -> Json | None:
        """Its form as the store keeps it; None of a Job or an object."""
        return None if self.form is None else self.form.as_json()

    @property
    def is_bare(self) -> bool:
        """Is it a Workload that no Job owns, and that names a queue?"""
        if self.parsed.kind != "Workload" or self.parsed.group != KUEUE:
            return False
        owners = (self.parsed.raw.get("metadata") or {}).get("ownerReferences")
        return bool(self.queue) and not owners

    @property
    def queue(self) -> str:
        """The LocalQueue it names: the label, else the annotation of the same key; "" if none.

        Of a CronJob that of its Jobs.
        """
        return queue_name(self.parsed if self.child is None else self.child.parsed)

    @property
    def submitter(self) -> dict[str, str]:
        """The annotation with the sender; {} if there was none by REST."""
        return {keys.SUBMITTED_BY: self.submitted_by} if self.submitted_by else {}

    @property
    def hub_annotations(self) -> dict[str, str]:
        """The hub's additions to the annotations of an object that it stores."""
        judged = {keys.PRIORITY_FROM: self.priority_from} if self.priority_from else {}
        return self.submitter | judged

    @property
    def shape(self) -> str:
        return shape_hash(self.parsed.pod_sets)

    def pod_sets(self) -> list[Json]:
        return encode(self.parsed.pod_sets)


def draft(
    parsed: Parsed,
    now: dt.datetime,
    *,
    origin: str = Origin.REST,
    uid: str = "",
    created_at: dt.datetime | None = None,
    index: int = 0,
    submitted_by: str = "",
    resource_version: str = "",
    kinds: DeclaredKinds = NONE,
    kept: ReadWork | None = None,
    stands: bool = False,
) -> Draft:
    """Make a draft of what was read. Without `uid` it gets a new one. `kinds`: those of administrators.

    `kept`: how a job was read when it was accepted, by which it stays. `stands`: as of `read_work`; whoever
    takes such a draft for new asks for its `refused_if_new`.

    Raises Rejected (InvalidSelector, TooManyTerms) for what came by REST with a selector that can
    not be read; from elsewhere it is taken, and waits with that reason. Raises what `read_work` does, and
    for the definition of a kind what `definitions.check` does.
    """
    definitions.check(parsed)
    by_rest = origin == Origin.REST
    work = kept or read_work(parsed, from_client=by_rest, kinds=kinds, stands=stands)
    fault = refused_if_new(parsed.raw, from_client=by_rest) if stands and kept is None else None
    cron_job = read_cron_job(parsed, now, from_client=origin == Origin.REST)
    if work is not None:
        parsed = replace(parsed, pod_sets=work.pod_sets)
    selector = parsed.annotations.get(CLUSTER_SELECTOR)
    if selector and origin == Origin.REST:
        parse_selector(selector, f"metadata.annotations[{CLUSTER_SELECTOR}]")
    name = parsed.name or generated_name(parsed.generate_name)
    manifest = _cleaned(parsed, name, origin)
    body = orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)
    return Draft(
        parsed=parsed,
        manifest=manifest,
        body=body,
        hash=hash_of(body),
        name=name,
        uid=uid or new_uid(now),
        origin=origin,
        created_at=created_at,
        index=index,
        submitted_by=submitted_by,
        resource_version=resource_version,
        form=None if work is None else work.form,
        schedule=None if cron_job is None else cron_job.spec,
        child=None if cron_job is None else draft(cron_job.child, now, submitted_by=submitted_by),
        refused_if_new=fault,
    )


def hash_of(body: bytes) -> str:
    """The hash of a manifest, by its JSON with sorted keys."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def queue_name(parsed: Parsed) -> str:
    """The LocalQueue that is named: by a Workload's spec, by a Job's label, else by its annotation."""
    if parsed.kind == "Workload":
        return str(parsed.spec.get("queueName") or "")
    return str(parsed.labels.get(keys.QUEUE_NAME) or parsed.annotations.get(keys.QUEUE_NAME) or "")


def name_taken(given: Draft) -> str:
    """The message about a name that a job has which the draft's sender may not see."""
    return f"the name {given.parsed.namespace}/{given.name} is taken: choose another one"


def read_by_the_hub(annotations: Any) -> dict[str, str]:
    """The annotations that the hub keeps beside a job's state: its own and Kueue's."""
    if not annotations:
        return {}
    return {
        key: value
        for key, value in annotations.items()
        if key.startswith((keys.PREFIX, keys.KUEUE_PREFIX))
    }


def _cleaned(parsed: Parsed, name: str, origin: str) -> Json:
    """The manifest without status and without metadata that servers write, save owners that matter.

    The template of a hub cluster's Job keeps what its API server wrote there: only members must not get it.
    """
    metadata: Json = {"name": name}
    if parsed.namespace:
        metadata["namespace"] = parsed.namespace
    if parsed.labels:
        metadata["labels"] = dict(parsed.labels)
    annotations = {k: text for k, text in parsed.annotations.items() if k not in _NOT_DECLARED}
    if annotations:
        metadata["annotations"] = annotations
    if owners := _owners(parsed):
        metadata["ownerReferences"] = owners
    manifest = {key: value for key, value in parsed.raw.items() if key != "status"}
    manifest["metadata"] = metadata
    if origin == Origin.REST and parsed.kind == "Job" and parsed.group == "batch":
        manifest["spec"] = clean_template(manifest["spec"])
    return manifest


def _owners(parsed: Parsed) -> list[Any]:
    """Of a Workload all (who admits it); of a Job none; of others the controller, which makes it."""
    metadata = parsed.raw.get("metadata") or {}
    if parsed.kind == "Workload" and parsed.group == KUEUE:
        return list(metadata.get("ownerReferences") or ())
    return [] if parsed.kind == "Job" and parsed.group == "batch" else controllers_of(metadata)
