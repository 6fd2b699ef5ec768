"""Objects that are only compared: how they differ is told, and nothing is written."""

import pytest

from agent.decide.decision import Comparison, Seen
from agent.decide.plain_objects import COMPARED_EVERY_S
from agent.member.applier import Applier
from shared.clock import SystemClock
from tests.agent.build import a_config_map, a_deployment, a_namespace, edit
from tests.agent.moments import settled
from tests.agent.scripted_hub import HUB_ID, an_object

pytestmark = pytest.mark.anyio


def a_work(manifest=None, uid="o-1", **fields):
    """As the hub sends it: with the manifest, to be compared."""
    work = an_object(manifest or a_config_map(), uid, **fields)
    return work.model_copy(update={"action": "Compare", "hash": f"{work.hash}~"})


WORK = a_work()
SAID = Comparison(3, "a note")


@pytest.mark.parametrize(
    ("seen", "moment", "wanted"),
    [
        (Seen(), {}, ("Compare", "Waiting", "Comparing")),
        (Seen(), {"wave_open": False}, ("Compare", "Waiting", "Comparing")),
        (Seen(), {"served": False}, ("Nothing", "Failed", "KindNotServed")),
        (Seen(compared_at=950.0), {}, ("Nothing", "Applied", "DiffReported")),
        (Seen(compared_at=1000.0 - COMPARED_EVERY_S), {}, ("Compare", "Applied", "DiffReported")),
        (Seen(live={"metadata": {}}), {}, ("Compare", "Waiting", "Comparing")),
    ],
)
def test_it_is_looked_at_now_and_every_minute(seen, moment, wanted):
    """The agent reads foreign objects, present or absent, at once and each minute; it does not watch them."""
    assert settled(WORK, seen, **moment) == wanted


@pytest.fixture
def applier(member):
    return Applier(member.kube, HUB_ID, SystemClock())


async def found(applier, work):
    told = await applier.compare(work)
    assert told.trouble is None
    return {each.pointer: each for each in told.found}, told.comparison


async def test_what_is_absent_differs_as_a_whole(applier):
    """An absent object or namespace is one difference, path "/", without a value in the member."""
    for manifest in (a_config_map(), a_config_map(namespace="nowhere")):
        told, comparison = await found(applier, a_work(manifest))
        assert list(told) == ["/"]
        assert comparison == Comparison()


async def test_only_what_an_apply_would_change_is_a_difference(member, applier):
    """Defaults and equal quantities in other notation are no differences; the comparison writes nothing."""
    made = a_deployment(replicas=3, cpu="500m")
    live = await member.kube.create(made, field_manager="someone")
    told, comparison = await found(applier, a_work(a_deployment(replicas=1, cpu="0.5")))
    assert {p: (d.hub, d.member) for p, d in told.items()} == {"/spec/replicas": (1, 3)}
    assert comparison == Comparison(live["metadata"]["generation"])
    now = await member.kube.get("apps/v1", "Deployment", "team", "web")
    assert "roadstead" not in str(now["metadata"])


async def test_a_field_that_can_not_be_changed_is_told_all_the_same(member, applier):
    """If the API server refuses the dry run, the agent compares the texts and reports that it did."""
    fixed = {**a_config_map(colour="blue"), "immutable": True}
    await member.kube.create(fixed, field_manager="someone")
    told, comparison = await found(applier, a_work(a_config_map(colour="red")))
    assert list(told) == ["/data/colour"]
    assert comparison.note.startswith("compared as texts, for a dry run was refused")


class GoneBeforeDryRuns:
    """An object that somebody deletes after it was read, and before the dry run arrives."""

    def __init__(self, member):
        self._member = member
        self._then = member.cluster.server.intercept
        member.cluster.server.intercept = self

    async def before(self, call, verb):
        if call.dry_run:
            await self._member.kube.delete("v1", "ConfigMap", "team", "settings")
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call, verb, reply):
        return await self._then.after(call, verb, reply) if self._then else reply


async def test_the_dry_run_is_of_the_object_that_was_read(member, applier):
    """The dry run names the uid: the agent concludes nothing from another object, or from none."""
    await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    GoneBeforeDryRuns(member)
    told, comparison = await found(applier, a_work(a_config_map(colour="red")))
    assert list(told) == ["/data/colour"]
    assert comparison.note.startswith("compared as texts, for a dry run was refused")


@pytest.mark.parametrize(("whole", "paths"), [(False, []), (True, ["/data/more"])])
async def test_a_full_comparison_tells_what_is_there_besides(member, applier, whole, paths):
    """It lists fields of other managers that the manifest does not name."""
    await member.kube.create(a_config_map(colour="red", more="x"), field_manager="someone")
    told, _ = await found(applier, a_work(compare_all=whole))
    assert list(told) == paths


async def test_what_the_hub_never_had_is_told_without_its_value(member):
    """Of an object that the hub did not create, an addition is reported by its path alone."""
    await member.kube.create(a_config_map(colour="red", token="hunter2"), field_manager="someone")
    member.hub.put(a_work(compare_all=True))
    member.start()
    entry = await member.hub.seen("o-1", "Applied", "DiffReported")
    assert [(told.path, told.hub, told.member) for told in entry.drift] == [
        ("/data/token", None, '"<redacted>"')
    ]


async def test_a_manifest_of_no_shape_does_not_draw_values_out(member):
    """A text where the member has a map: the report contains no key and no value of the map."""
    await member.kube.create(a_config_map(token="hunter2"), field_manager="someone")
    member.hub.put(a_work({**a_config_map(), "data": "x"}))
    member.start()
    entry = await member.hub.seen("o-1", "Applied", "DiffReported")
    assert [(told.path, told.member) for told in entry.drift] == [("/data", '"<redacted>"')]


async def test_values_of_a_created_object_are_told(member, applier):
    """It is the hub's object, so the report contains values that others added."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"more": "x"}})
    told, _ = await found(applier, a_work(compare_all=True))
    assert told["/data/more"].member == "x"


@pytest.mark.parametrize("there", [True, False])
async def test_without_consent_nothing_is_compared(member, applier, there):
    """The report shows neither a value nor whether the object exists; the message names the command."""
    await member.namespace("finance", accept=False)
    if there:
        foreign = a_config_map(namespace="finance", colour="blue")
        await member.kube.create(foreign, field_manager="someone")
    compared = await applier.compare(a_work(a_config_map(namespace="finance")))
    assert (compared.found, compared.trouble.reason) == ([], "NotAccepted")
    command = f"kubectl label namespace finance roadstead.dev/accept={HUB_ID}"
    assert compared.trouble.message.endswith(command)


async def test_a_cluster_scoped_object_is_compared_with_its_own_label(member, applier):
    """A bare Namespace among them: its own label consents."""
    for name, accept in (("theirs", False), ("ours", True)):
        await member.namespace(name, accept=accept)
    refused = await applier.compare(a_work(a_namespace("theirs"), uid="o-2"))
    assert refused.trouble.reason == "NotAccepted"
    told, _ = await found(applier, a_work(a_namespace("ours"), uid="o-3"))
    assert told == {}


async def test_an_own_object_is_compared_without_consent(member, applier):
    """The hub created it while the namespace accepted the hub."""
    await member.namespace("finance")
    member.hub.put(an_object(a_config_map(namespace="finance"), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await member.accept("finance", False)
    told, _ = await found(applier, a_work(a_config_map(namespace="finance", colour="blue")))
    assert {path: each.member for path, each in told.items()} == {"/data/colour": "red"}


async def test_a_kind_that_is_not_served_can_not_be_compared(applier):
    """Nor can an object that the API server refuses to show."""
    strange = {**a_config_map(), "apiVersion": "x/v1", "kind": "None"}
    assert (await applier.compare(a_work(strange))).trouble.reason == "KindNotServed"


async def test_the_hub_is_told_and_the_member_is_left_alone(member):
    """The report has each path with both values, the time and the generation, and omits ignored paths."""
    made = await member.kube.create(a_config_map(colour="blue", size="1"), field_manager="someone")
    wanted = a_config_map(colour="red", size="2")
    member.hub.put(a_work(wanted, ignore_drift=["/data/size"]))
    member.start()
    entry = await member.hub.seen("o-1", "Applied", "DiffReported")
    (told,) = entry.drift
    assert (told.path, told.hub, told.member) == ("/data/colour", '"red"', '"blue"')
    assert (entry.generation, entry.object_uid) == (1, "")
    assert await member.kube.get("v1", "ConfigMap", "team", "settings") == made


async def test_the_content_of_a_secret_is_not_told(member):
    """Neither the value of a field nor the content of an absent Secret."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "team"},
        "stringData": {"password": "hunter2"},
    }
    member.hub.put(a_work(secret))
    member.start()
    (told,) = (await member.hub.seen("o-1", "Applied", "DiffReported")).drift
    assert (told.path, told.hub, told.member) == ("/", '"<redacted>"', None)


async def test_from_applied_to_compared_and_back(member):
    """Our object stays unchanged while the agent only compares it; afterwards the agent applies again."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied", "")
    member.hub.put(a_work())
    await member.hub.seen("o-1", "Applied", "DiffReported")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    entry = await member.hub.until(lambda hub: hub.observed["o-1"].drift and hub.observed["o-1"])
    assert entry.reason == "DiffReported"
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "blue"}
    member.hub.put(an_object(a_config_map(colour="green"), "o-1", generation=2))
    await member.hub.until(
        lambda hub: (hub.observed["o-1"].reason, hub.observed["o-1"].generation) == ("", 2)
    )
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "green"}
    await member.hub.until(lambda hub: hub.observed["o-1"].drift == [])


async def test_what_was_only_compared_is_not_deleted(member):
    """After a withdrawal the agent reports Gone, and the foreign object is still there."""
    made = await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    member.hub.put(a_work())
    member.start()
    await member.hub.seen("o-1", "Applied", "DiffReported")
    member.hub.put(an_object(a_config_map(), "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    assert await member.kube.get("v1", "ConfigMap", "team", "settings") == made
