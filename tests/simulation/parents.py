"""Members whose jobs are objects of another kind than Job, with an operator between them and their pods.

Each job becomes a JobSet of one child Job, which makes the pods as any Job does. The operator is late, makes
lost children again, and copies the labels of the JobSet to some of them. People delete and tear out children
as they do parents.
"""

from typing import Any

from shared import labels
from shared.wire.agent_v1 import Work
from shared.wire.kind_rules import FieldValue, KindRule
from tests.simulation.member import FOREGROUND, ORPHAN, Member
from tests.simulation.scenario import Run
from tests.simulation.services import WholeRun
from tests.simulation.world import Violation

Object = dict[str, Any]
KIND = ("jobset.x-k8s.io/v1alpha2", "JobSet")
_CHILD = "-child"
_SCALE = "/spec/replicas"
_CLEARED_S = 60.0
_DONE = frozenset({"Complete", "Failed"})


_RULE = KindRule(
    definition="jobset",
    held=[FieldValue(path="/spec/suspend", value=True)],
    run=[FieldValue(path="/spec/suspend", value=False)],
    templates=["/spec/template"],
)


def as_parent(work: Work) -> Work:
    """The work of a JobSet, as a hub that knows the kind would give it."""
    if work.epoch < 1 or (work.api_version, work.kind) == KIND:
        return work
    changes: Object = {"api_version": KIND[0], "kind": KIND[1], "kind_rule": _RULE}
    if work.manifest is not None:
        changes["manifest"] = _manifest(work, work.manifest)
    return work.model_copy(update=changes)


def _manifest(work: Work, job: Object) -> Object:
    env = [
        {"name": labels.JOB_UID_VARIABLE, "value": work.uid},
        {"name": labels.EPOCH_VARIABLE, "value": str(work.epoch)},
    ]
    template = {"spec": {"containers": [{"name": "main", "env": env}]}}
    spec = {**job["spec"], "template": template}
    return {**job, "apiVersion": KIND[0], "kind": KIND[1], "spec": spec}


class ParentMember(Member):
    """A member that serves JobSets, and runs them."""

    kinds = (*Member.kinds, KIND)

    def convert(self, reply: Any) -> None:
        reply.desired.works = [self.as_parent(work) for work in reply.desired.works]

    def as_parent(self, work: Work) -> Work:
        return as_parent(work)

    def is_work(self, job: Object) -> bool:
        return "parent" not in job

    def create(self, given: Object) -> Object:
        if given["kind"] == "Job" and given["metadata"]["name"] not in self.jobs:
            given = {**given, "apiVersion": KIND[0], "kind": KIND[1]}  # what people put there
        return super().create(given)

    def merge_patch(self, name: str, patch: Object) -> Object:
        self._not_a_child(name)
        return super().merge_patch(name, patch)

    def delete(self, name: str, *given: Any, by_hand: bool = False) -> Object:
        if not by_hand:
            self._not_a_child(name)
        return super().delete(name, *given, by_hand=by_hand)

    def _not_a_child(self, name: str) -> None:
        if "parent" in self.jobs.get(name, {}):
            raise Violation("R-11", f"{name} of {self.name}, which its operator made, is written")

    # --- the operator and the collector ----------------------------------------------------------

    def _look(self, name: str) -> None:
        job = self.jobs.get(name)
        if job is None or "parent" in job:
            super()._look(name)
            self._look_around(name)
            return
        if self.controllers_from > self.world.now:
            self.world.at(self.controllers_from, self._look, name)
            return
        self._due.discard(name)
        child = self.jobs.get(name + _CHILD)
        if child is not None and "parent" not in child:
            child = {**child, "parent": ""}  # a stranger's, which keeps the name
        if child is not None and child["parent"] not in {"", job["metadata"]["uid"]}:
            self._orphaned(child)
        elif job["metadata"].get("deletionTimestamp"):
            self._collect_parent(job, child)
        else:
            self._operate(job, child)

    def _look_around(self, name: str) -> None:
        """After a child its parent, after an absent parent its child."""
        if name.endswith(_CHILD):
            self._look_soon(name.removesuffix(_CHILD))
        elif (child := self.jobs.get(name + _CHILD)) is not None:
            self._orphaned(child)

    def _orphaned(self, child: Object) -> None:
        """Its parent is gone: the collector deletes it, unless it was orphaned on purpose."""
        if child.get("parent"):
            self._end_child(child, foreground=False)

    def _operate(self, job: Object, child: Object | None) -> None:
        status = job["status"]
        held = {c["type"] for c in status.get("conditions") or ()}
        if held & _DONE or (child is not None and not child["parent"]):
            return
        if self._follows(job, child):
            return
        assert child is not None
        if done := [c for c in child["status"].get("conditions") or () if c["type"] in _DONE]:
            after = {
                **job,
                "status": {
                    **status,
                    "conditions": [{**done[0], "lastTransitionTime": self._now()}],
                },
            }
            self.checks.status(self.name, self._stored("Job", "MODIFIED", after))

    def _follows(self, job: Object, child: Object | None) -> bool:
        """Bring the child to what the parent says: True if there was something to do, or none is to be."""
        if job["spec"].get("suspend"):
            if child is not None:
                self._end_child(child, foreground=True)
            return True
        if child is None:
            self._make_child(job)
            return True
        return False

    def _child_spec(self, job: Object) -> Object:
        return {**job["spec"], "suspend": False}

    def _manage(self, job: Object, pods: list[Object]) -> None:
        """A child may rest between two pods, as a Job does after a failure."""
        if "parent" in job and self.world.random.random() < 0.4:
            self.world.after(
                self.world.random.random() * 8.0, self._look_soon, job["metadata"]["name"]
            )
        else:
            super()._manage(job, pods)

    def _make_child(self, job: Object) -> None:
        """Some moment; it may be its second one, and then nothing is left of what the first one did."""
        name = job["metadata"]["name"] + _CHILD
        if self.world.random.random() < 0.3:
            self.world.after(
                self.world.random.random() * 3.0, self._look_soon, job["metadata"]["name"]
            )
            return
        marks = job["metadata"].get("labels") or {}
        owner = {"kind": KIND[1], "controller": True, "uid": job["metadata"]["uid"]}
        metadata = {
            "name": name, "namespace": "n", "uid": self.new_uid("child"), "generation": 1,
            "labels": dict(marks) if self.world.random.random() < 0.5 else {},
            "annotations": {}, "ownerReferences": [owner],
        }  # fmt: skip
        child = {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": {},
            "spec": self._child_spec(job),
            "parent": job["metadata"]["uid"], "pod labels": marks,
        }  # fmt: skip
        self._stored("Job", "ADDED", child)
        self.world.note(f"{self.name}: {name} is made by its operator")
        self._look_soon(name)

    def _collect_parent(self, job: Object, child: Object | None) -> None:
        finalizers = job["metadata"].get("finalizers") or []
        if FOREGROUND in finalizers:
            if child is not None and child["parent"]:
                self._end_child(child, foreground=True)
            else:
                self._without(job, FOREGROUND)
        elif ORPHAN in finalizers:
            if child is not None:
                metadata = {**child["metadata"], "ownerReferences": []}
                self._stored("Job", "MODIFIED", {**child, "metadata": metadata, "parent": ""})
                self.world.after(_CLEARED_S, self._clear, child["metadata"]["uid"])
            self._without(job, ORPHAN)

    def _clear(self, uid: str) -> None:
        """Who orphaned a child takes it away some time: its name is needed."""
        for child in list(self.jobs.values()):
            if child["metadata"]["uid"] == uid:
                self._end_child(child, foreground=False)

    def _end_child(self, child: Object, *, foreground: bool) -> None:
        metadata = child["metadata"]
        if not foreground:
            self._drop(child)
        elif FOREGROUND not in metadata.get("finalizers", ()):
            metadata = {**metadata, "finalizers": [FOREGROUND], "deletionTimestamp": self._now()}
            self._stored("Job", "MODIFIED", {**child, "metadata": metadata})
            self._look_soon(metadata["name"])


class ScaledMember(ParentMember):
    """The same, held at no replicas: its operator makes a child of a held parent, in which nothing runs.

    The number of replicas is the parallelism that is admitted; the child follows it, late. `suspend` goes
    with it for the judges alone: the operator does not read it.
    """

    def as_parent(self, work: Work) -> Work:
        made = as_parent(work)
        if made is work or made.kind_rule is None:
            return made
        replicas = 1
        if made.manifest is not None:
            spec = made.manifest["spec"]
            replicas = spec["parallelism"]
            scaled = {**spec, "suspend": False, "replicas": replicas}
            made = made.model_copy(update={"manifest": {**made.manifest, "spec": scaled}})
        rule = made.kind_rule.model_copy(
            update={
                "held": [*made.kind_rule.held, FieldValue(path=_SCALE, value=0)],
                "run": [*made.kind_rule.run, FieldValue(path=_SCALE, value=replicas)],
                "scale": _SCALE,
            }
        )
        return made.model_copy(update={"kind_rule": rule})

    def _follows(self, job: Object, child: Object | None) -> bool:
        if "replicas" not in job["spec"]:
            return super()._follows(job, child)  # people made it
        if child is None:
            self._make_child(job)
            return True
        wanted = self._child_spec(job)
        if child["spec"] == wanted:
            return bool(job["spec"]["replicas"] == 0)
        if self.world.random.random() < 0.5 or child["metadata"].get("deletionTimestamp"):
            self.world.after(1.0, self._look_soon, job["metadata"]["name"])
            return True
        self._stored("Job", "MODIFIED", {**child, "spec": wanted})
        self._look_soon(child["metadata"]["name"])
        return True

    def _child_spec(self, job: Object) -> Object:
        size = job["spec"].get("replicas")
        if size is None:
            return super()._child_spec(job)
        return {**job["spec"], "suspend": size == 0, "parallelism": size}


class ScaledRun(Run):
    """All jobs of a scenario are held at no replicas."""

    member_of = ScaledMember


class ParentRun(Run):
    """All jobs of a scenario are JobSets."""

    member_of = ParentMember


class WholeParentRun(WholeRun):
    """The same with the hub's services."""

    member_of = ParentMember
