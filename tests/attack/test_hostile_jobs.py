"""54 Jobs that no tenant may have run: denied by the hub, and by the agent of a member that gets them.

The third gate, the policy in the member's API server, is tried on a real one (tests/realkube). A list of
other commands, of what a hub might be made to send besides Jobs, ends at the agent too.
"""

from pathlib import Path

import pytest
import yaml

from agent.decide.member_policy import MemberPolicy
from hub.services.context.settings import Pods, Settings
from shared.podsecurity import Rules
from tests.agent.scripted_hub import an_object
from tests.api.serving import served
from tests.attack.hostile import HARDENED, harmless_job, hostile_jobs
from tests.attack.hostile_objects import hostile_objects
from tests.attack.works import work_of
from tests.bad_inputs.cases import labelled_namespace
from tests.house.sources import REPOSITORY

pytestmark = pytest.mark.anyio
REFUSED = "RefusedByMember"
EVERY = pytest.mark.parametrize("hostile", hostile_jobs(), ids=lambda each: each.name)


async def jobs_of(one):
    return [each["metadata"]["name"] for each in (await one.kube.list("batch/v1", "Job")).items]


def test_there_are_fifty_four_of_them():
    """Each has a name of its own."""
    assert len({each.name for each in hostile_jobs()}) == 54


@EVERY
async def test_the_hub_denies_it(tmp_path, hostile):
    """422 with its code, and the field among the errors; nothing is stored."""
    limits = Settings(pods=Pods(fields=hostile.rules.fields))
    async with served(tmp_path, limits) as hub:
        namespace = labelled_namespace("restricted")
        namespace["metadata"]["name"] = HARDENED
        await hub.admin.post("/v1/apply", json=namespace)
        reply = await hub.admin.post("/v1/jobs", json=hostile.manifest)
        assert (reply.status_code, reply.json()["code"]) == (422, hostile.code)
        assert hostile.field in {each["field"] for each in reply.json()["errors"]}
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_the_agent_denies_what_a_hub_sends_all_the_same(member):
    """All 54 by a hub that judges nothing: each is refused for good, and not one Job is created."""
    rules = hostile_jobs()[0].rules
    member.hub.put(*(work_of(each.manifest, f"u-{each.name}") for each in hostile_jobs()))
    closed = Rules(levels=rules.levels, fields="none")
    member.start(policy=MemberPolicy(closed))
    for each in hostile_jobs():
        entry = await member.hub.seen(f"u-{each.name}", "Failed", REFUSED)
        assert entry.message.startswith(each.code), each.name
    assert await jobs_of(member) == []


@EVERY
def test_the_agent_names_the_field(hostile):
    """Under exactly the rules that deny it: the code, and the field first or among the others."""
    policy = MemberPolicy(hostile.rules)
    said = policy.refuse(work_of(hostile.manifest, "u"), "Create")
    assert said is not None
    assert said.final
    assert said.message.startswith(f"{hostile.code}: ")
    assert hostile.field in said.message or "more)" in said.message


@EVERY
def test_it_is_denied_for_that_alone(hostile):
    """The Job that it was made from passes the same rules."""
    policy = MemberPolicy(hostile.rules)
    assert policy.refuse(work_of(harmless_job(), "u"), "Create") is None


@pytest.mark.parametrize("command", hostile_objects(), ids=lambda each: each.name)
def test_other_commands_end_at_the_agent(command):
    """Under the widest profile: what would give rights, or reach beyond the tenants' namespaces."""
    work = an_object(command.manifest, "u")
    said = MemberPolicy().refuse(work, "Apply")
    assert said is not None
    assert said.message.startswith(f"{command.code}: {command.field}")


@pytest.mark.parametrize("command", hostile_objects(), ids=lambda each: each.name)
def test_a_member_for_jobs_alone_takes_no_objects(command):
    """With the profile `jobs` none of them is looked at twice."""
    said = MemberPolicy(profile="jobs").refuse(an_object(command.manifest, "u"), "Apply")
    assert said is not None
    assert said.message.startswith("UnsupportedKind: ")


def test_powers_are_taken_where_they_are_named():
    """An administrator who writes the group out opens it; a pattern that has to guess does not."""
    (role,) = [each for each in hostile_objects() if each.name == "role"]
    work = an_object(role.manifest, "u")
    named = MemberPolicy(kinds="core/*,rbac.authorization.k8s.io/Role")
    assert named.refuse(work, "Apply") is None
    assert MemberPolicy(kinds="*,rbac*/Role").refuse(work, "Apply") is not None


def samples():
    """Every Job of the guide and of the examples."""
    for path in sorted((REPOSITORY / "examples").rglob("*.yaml")):
        for each in yaml.safe_load_all(Path(path).read_text()):
            if isinstance(each, dict) and each.get("kind") == "Job":
                yield pytest.param(each, id=f"{path.name}-{each['metadata']['name']}")


@pytest.mark.parametrize("job", list(samples()))
def test_legitimate_jobs_pass(job):
    """The guide's and the examples' Jobs pass the agent of any member that keeps the defaults."""
    job["metadata"].setdefault("namespace", "default")
    assert MemberPolicy().refuse(work_of(job, "u"), "Create") is None
