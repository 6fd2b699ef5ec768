"""Kinds that administrators define: versions, what is refused and why, and jobs of such kinds."""

import pytest

from hub.services.jobs.revise import set_priority
from hub.services.kinds import checked_kinds, declared_kinds
from hub.services.kinds.declared_kinds import DeclaredKinds, OnEventLoop
from hub.services.kinds.definitions import judge
from hub.services.reading.draft import draft
from hub.store import events, kind_versions, objects
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.kinds.unheeded import notices
from tests.services.build import a_class
from tests.services.kinds.defining import code_of, delete, started, versions
from tests.services.kinds.fleet import Fleet, a_fleet
from tests.services.kinds.swarms import (
    a_definition,
    a_swarm,
    an_extension,
)
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio


async def test_an_object_of_a_defined_kind_runs_as_a_job(tmp_path):
    """Defined, submitted, charged, given to its member with the version's name, and ended by its states."""
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_apply(a_definition())
        applied = await fleet.try_apply(a_swarm(count=3))
        work = await fleet.told(agent, applied.uid)
        assert (work["kind"], work["epoch"], work["action"]) == ("Swarm", 1, "Apply")
        assert work["kind_rule"] == {
            "definition": "swarm@1",
            "held": [{"path": "/spec/paused", "value": True}],
            "run": [{"path": "/spec/paused", "value": False}],
            "templates": ["/spec/agents/template"],
            "pods": 3,
            "scale": "",
        }
        row = await fleet.job(applied.uid)
        assert (row.kind_version, row.api_version) == ("swarm@1", "example.org/v1")
        await agent.sync(ran(applied.uid, 1, result="Succeeded", succeeded=3, reason="Done"))
        assert (await fleet.job(applied.uid)).state == "Succeeded"


async def test_agents_are_told_the_versions_that_jobs_use(tmp_path):
    """The current one, and that of each job."""
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_apply(a_definition())
        applied = await fleet.try_apply(a_swarm())
        await fleet.try_apply(a_definition(scaleDefinition={"replicasPath": ".spec.agents.count"}))
        await fleet.told(agent, applied.uid)
        answer = await agent.sync(kinds_held=0)
        named = {each["name"] for each in answer["kinds"]["definitions"]}
        assert {"swarm@1", "swarm@2"} <= named
        assert "kubeflow-org-jaxjob-v1" in named


async def test_each_accepted_change_is_a_version_and_others_are_none(tmp_path):
    """The same content again makes none; an extension changes what the definition says."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_apply(a_definition())
        again = await fleet.try_apply(a_definition())
        assert again.result == "unchanged"
        assert await versions(fleet) == [("swarm@1", True)]
        await fleet.try_apply(an_extension(priorityPaths=[".spec.rank"]))
        assert await versions(fleet) == [("swarm@1", False), ("swarm@2", True)]


async def test_documents_that_are_applied_together_are_one_version(tmp_path):
    """A Karta and its extension of one request, in whatever order."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_all(an_extension(), a_definition())
        assert await versions(fleet) == [("swarm@1", True)]


async def test_a_job_stays_with_the_version_by_which_it_was_accepted(tmp_path):
    """A change of its labels or its priority does not read it again; a new job is read by the new one."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.apply(a_class("high", 9))
        await fleet.try_apply(a_definition())
        first = await fleet.try_apply(a_swarm(count=3))
        await fleet.try_apply(
            a_definition(scaleDefinition={"replicasPath": ".spec.agents.count * 2"})
        )
        changed = a_swarm(count=3)
        changed["metadata"]["labels"]["tier"] = "gold"
        assert (await fleet.try_apply(changed)).result == "configured"
        await fleet.hub.write(set_priority, first.uid, "high", fleet.hub.settings.intake, "ann")
        row = await fleet.job(first.uid)
        assert (row.kind_version, row.parallelism, row.priority) == ("swarm@1", 3, 9)
        second = await fleet.job((await fleet.try_apply(a_swarm("wasps", count=3))).uid)
        assert (second.kind_version, second.parallelism) == ("swarm@2", 6)


async def test_what_was_read_by_a_version_that_changed_meanwhile_is_sent_again(tmp_path):
    """The version is checked in the transaction that takes the job."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        stale = DeclaredKinds()
        stale.take(await fleet.hub.read(kind_versions.all_known))
        await fleet.try_apply(a_definition(scaleDefinition={"replicasPath": ".spec.agents.count"}))
        current, fleet.hub.kinds = fleet.hub.kinds, stale
        applied = await fleet.try_apply(a_swarm())
        current.close()
        assert code_of(applied) == "Conflict"


@pytest.mark.parametrize(
    ("without", "named"),
    [
        ("suspendDefinition", "suspendDefinition"),
        ("statusDefinition", "statusMappings"),
        ("specDefinition", "podTemplateSpecPath"),
    ],
)
async def test_a_kind_that_cannot_be_held_or_ended_is_read_and_not_dispatched(
    tmp_path, without, named
):
    """The answer to the definition warns, and each object is refused with what to add."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        defined = await fleet.try_apply(a_definition(without=without))
        assert any(named in each for each in defined.warnings)
        refused = await fleet.try_apply(a_swarm())
        assert code_of(refused) == "NoAdapter"
        assert named in refused.error.detail
        row = await fleet.hub.read(objects.get, defined.uid)
        told = {each["type"]: each["status"] for each in row.status["conditions"]}
        assert told == {"Accepted": "True", "Dispatched": "False"}


async def test_a_hold_that_writes_what_runs_it_is_no_hold(tmp_path):
    """A held object would look like one that runs."""
    same = [{"path": ".spec.paused", "value": "true"}]
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        actions = {"suspendActions": same, "resumeActions": same}
        await fleet.try_apply(a_definition(suspendDefinition=actions))
        refused = await fleet.try_apply(a_swarm())
        assert "different values" in refused.error.detail


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"group": "kubeflow.org", "version": "v1", "kind": "PyTorchJob"}, "Roadstead brings"),
        ({"group": "ray.io", "version": "v2", "kind": "RayJob"}, "Roadstead brings"),
        ({"group": "apps", "version": "v1", "kind": "DaemonSet"}, "custom resource"),
        ({"group": "policy", "version": "v1", "kind": "Budget"}, "custom resource"),
        ({"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "Topology"}, "custom resource"),
    ],
)
async def test_kinds_that_are_known_here_are_not_defined_again(tmp_path, of, why):
    """In whatever version: their objects would be read by two definitions."""
    async with a_fleet(tmp_path) as fleet:
        refused = await fleet.try_apply(a_definition(kind=of))
        assert code_of(refused) == "InvalidValue"
        assert why in refused.error.detail


async def test_a_kept_definition_of_the_name_of_a_known_kind_dispatches_nothing(tmp_path):
    """As a hub before took one: its objects are refused, and a member's absent Job proves nothing of them."""
    job = {"group": "example.org", "version": "v1", "kind": "Job"}
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_apply(a_definition())
        (held,) = await fleet.hub.read(kind_versions.all_known)
        earlier = held._replace(name="job", kind="Job", karta=a_definition("job", kind=job))
        await fleet.hub.write(kind_versions.add, earlier)
        await declared_kinds.load(fleet.hub.db, fleet.hub.kinds)
        named = {**a_swarm(), "kind": "Job"}
        refused = await fleet.try_apply(named)
        assert (code_of(refused), "another name" in refused.error.detail) == ("NoAdapter", True)


async def test_an_expression_that_is_not_allowed_is_refused_with_its_field(tmp_path):
    """As `roadstead kinds check` says it."""
    async with a_fleet(tmp_path) as fleet:
        wrong = {"replicasPath": "[limit(3; repeat(1))] | length"}
        refused = await fleet.try_apply(a_definition(scaleDefinition=wrong))
        assert code_of(refused) == "InvalidValue"
        assert "scaleDefinition.replicasPath" in refused.error.detail


async def test_a_change_that_is_no_definition_leaves_the_accepted_version(tmp_path):
    """An extension of a component that the Karta does not have: a warning, and jobs are read as before."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        wrong = await fleet.try_apply(an_extension(podSets=[{"component": "hive"}]))
        assert "not accepted" in wrong.warnings[0]
        assert await versions(fleet) == [("swarm@1", True)]
        assert (await fleet.try_apply(a_swarm())).result == "created"


async def _conditions(fleet: Fleet, uid: str) -> dict[str, str]:
    row = await fleet.hub.read(objects.get, uid)
    return {each["type"]: each["status"] for each in row.status["conditions"]}


@pytest.mark.parametrize("later", ["alpha", "wasp"])
async def test_of_two_kartas_of_one_kind_the_one_in_use_holds(tmp_path, later):
    """Whatever their names: the later one is not accepted, with a warning, and in a dry run refused."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        tried = judge([a_definition(later)], [])
        with pytest.raises(Rejected, match="Karta swarm defines"):
            await fleet.hub.read(checked_kinds.checked, tried)
        second = await fleet.try_apply(a_definition(later))
        assert "not accepted: Karta swarm defines" in second.warnings[0]
        assert await _conditions(fleet, second.uid) == {"Accepted": "False"}
        assert await versions(fleet) == [("swarm@1", True)]
        row = await fleet.job((await fleet.try_apply(a_swarm())).uid)
        assert row.kind_version == "swarm@1"


async def test_of_two_kartas_applied_together_the_first_by_name_gets_the_kind(tmp_path):
    """The other one gets it once the first one is deleted, or defines another kind."""
    hive = {"group": "example.org", "version": "v1", "kind": "Hive"}
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_all(a_definition("swarm"), a_definition("alpha"))
        assert await versions(fleet) == [("alpha@1", True)]
        await fleet.try_apply(a_definition("alpha", kind=hive))
        assert await versions(fleet) == [("alpha@1", False), ("alpha@2", True), ("swarm@1", True)]
        await fleet.try_apply(a_definition("beta"))
        await delete(fleet, "run.ai", "Karta", "swarm")
        assert ("beta@1", True) in await versions(fleet)


async def test_two_current_versions_of_one_kind_are_one_after_the_next_change(tmp_path):
    """As an earlier release left them: the one by which objects are read stays, and is told alone."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_apply(a_definition())
        first = await fleet.try_apply(a_definition("alpha"))
        (held,) = await fleet.hub.read(kind_versions.all_known)
        await fleet.hub.write(kind_versions.add, held._replace(name="alpha"))
        told = (await fleet.hub.read(checked_kinds.list_versions))["items"]
        assert [(each["name"], each["current"]) for each in told] == [
            ("alpha", False),
            ("swarm", True),
        ]
        await fleet.try_apply(a_definition("wasp"))
        assert await versions(fleet) == [("alpha@1", False), ("swarm@1", True)]
        assert await _conditions(fleet, first.uid) == {"Accepted": "False"}


async def test_a_change_that_ends_dispatch_says_so(tmp_path):
    """It is in effect at once: new objects are refused, and jobs keep their version."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        first = await fleet.try_apply(a_definition())
        assert first.warnings == ()
        changed = await fleet.try_apply(a_definition(without="suspendDefinition"))
        ended, *refused = changed.warnings
        assert ended == (
            "this change ends the dispatch of Swarm at once: jobs that were accepted keep swarm@1"
        )
        assert refused[0].startswith(
            "objects of Swarm that name a queue are refused (NoAdapter): spec."
        )
        assert code_of(await fleet.try_apply(a_swarm())) == "NoAdapter"


async def test_an_object_that_is_queued_has_no_warning_of_its_queue(tmp_path):
    """Its label has an effect: neither the answer nor an Event says otherwise."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        applied = await fleet.try_apply(a_swarm())
        assert applied.draft is not None
        assert notices(applied.draft.parsed) == ()
        assert await fleet.hub.read(events.about, applied.uid, "NotActedOn", 9) == []


async def test_an_evaluation_that_takes_too_long_sets_the_object_aside(tmp_path):
    """Its process is ended, the refusal has the reason, and the next object is read by a new one."""
    marks = ".spec.agents.marks[]"
    slow = f"[{marks} as $a | {marks} as $b | {marks} as $c | 1] | length"
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition(scaleDefinition={"replicasPath": f"{slow} - 7"}))
        many = a_swarm()
        many["spec"]["agents"]["marks"] = list(range(400))
        refused = await fleet.try_apply(many)
        assert "200 ms" in refused.error.detail
        few = a_swarm()
        few["spec"]["agents"]["marks"] = [1, 2]
        assert (await fleet.try_apply(few)).result == "created"


async def test_such_a_kind_is_not_read_on_the_event_loop(tmp_path):
    """A reader there gets OnEventLoop, and reads beside it."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.try_apply(a_definition())
        kinds = fleet.hub.kinds
        now = fleet.hub.clock.now()
        for each in (a_swarm(), a_definition()):
            with pytest.raises(OnEventLoop):
                draft(parse(each, declared=kinds), now, kinds=kinds)


async def test_an_object_without_a_namespace_is_in_that_of_the_request(tmp_path):
    """As a Job is."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        bees = a_swarm()
        del bees["metadata"]["namespace"]
        read = parse(bees, declared=fleet.hub.kinds, default_namespace="team-b")
        assert read.namespace == "team-b"


async def test_an_object_without_a_queue_is_placed_as_it_is(tmp_path):
    """And none of the name of a job is kept beside it."""
    async with a_fleet(tmp_path) as fleet:
        await started(fleet)
        await fleet.try_apply(a_definition())
        await fleet.try_apply(a_swarm())
        assert code_of(await fleet.try_apply(a_swarm(queue=""))) == "Immutable"
        assert (await fleet.try_apply(a_swarm("ants", queue=""))).result == "created"
        assert code_of(await fleet.try_apply(a_swarm("ants"))) == "AlreadyExists"
