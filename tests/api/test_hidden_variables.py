"""Values of environment variables, wherever a manifest has them, are hidden at every door alike."""

import copy
from typing import Any

import orjson
import pytest

from agent.objects import comparing, drift
from hub.services.context.settings import Settings
from hub.services.live import places
from hub.services.members.verdicts.plain_text import bounded_drift, drift_text
from hub.services.placements.history.fields import changed_fields
from roadstead.cli.export import hidden_in
from shared import secrecy
from shared.resubmitted import is_hidden
from shared.wire.agent_v1 import Drift
from tests.api.serving import served
from tests.api.variables import SHAPES, WORD, a_swarm_with, a_thing
from tests.services.hubs import a_queue
from tests.services.kinds.swarms import a_definition

every_shape = pytest.mark.parametrize("shape", SHAPES)
OTHER = f"{WORD}-2"
THING = "/v1/objects/example.org/Thing/namespaces/team-a/t"
FILE_OF_ITS_OWN = ("apiVersion", "kind", "spec")


def as_sent(shown: dict[str, Any]) -> dict[str, Any]:
    """The object as it is applied again."""
    metadata = {name: shown["metadata"][name] for name in ("name", "namespace")}
    return {name: shown[name] for name in FILE_OF_ITS_OWN} | {"metadata": metadata}


@every_shape
@pytest.mark.anyio
async def test_what_a_viewer_read_is_not_applied(tmp_path, shape):
    """The answer hides the value, an export names the object, and the hub keeps the value that it has."""
    async with served(tmp_path, Settings()) as hub:
        assert (await hub.admin.post("/v1/apply", json=a_thing(shape))).status_code == 200
        reply = await hub.viewer.get(THING)
        assert WORD not in reply.text
        assert "[hidden]" in reply.text
        back = as_sent(reply.json())
        assert hidden_in([back]) == ["Thing t"]
        (told,) = (await hub.admin.post("/v1/apply", json=back)).json()["items"]
        assert (told["result"], told["code"]) == ("rejected", "InvalidValue")
        assert "[hidden] stands for" in told["detail"]
        assert WORD in (await hub.admin.get(THING)).text


@pytest.mark.parametrize(
    "shape", [each for each in SHAPES if each.startswith(("runtime", "serve", "spark", "hadoop"))]
)
@pytest.mark.anyio
async def test_a_mark_inside_a_text_with_variables_is_refused(tmp_path, shape):
    """In a document or a setting the mark may stand among other words."""
    async with served(tmp_path, Settings()) as hub:
        sent = a_thing(shape, "'before [hidden] after'")
        (told,) = (await hub.admin.post("/v1/apply", json=sent)).json()["items"]
        assert (told["result"], told["code"]) == ("rejected", "InvalidValue")


@every_shape
def test_a_copy_of_what_was_hidden_is_known_as_one(shape):
    """Resubmission refuses it, and takes the whole manifest."""
    assert is_hidden(secrecy.without_env(a_thing(shape)))
    assert not is_hidden(a_thing(shape))


@every_shape
def test_differences_of_revisions_tell_no_value(shape):
    """They name the field; also where it came or went with the whole spec."""
    one, other = a_thing(shape), a_thing(shape, OTHER)
    bare = {**one, "spec": {"x": 1}}
    for before, after in ((one, other), (one, bare), (bare, one)):
        fields, count = changed_fields(before, after)
        told = orjson.dumps([each.as_json() for each in fields]).decode()
        assert count > 0
        assert "[hidden]" in told
        assert WORD not in told


@every_shape
def test_drift_tells_no_value(shape):
    """Neither the hub's nor the member's; also where the field itself is gone."""
    wanted, live = a_thing(shape), a_thing(shape, OTHER)
    gone = {**copy.deepcopy(live), "spec": {}}
    for held in (live, gone):
        found = drift.compared(wanted, held)
        told = comparing.told(found, wanted, {}, "2026-05-01T00:00:00Z")
        assert told
        text = "".join(each.model_dump_json() for each in told.values())
        assert WORD not in text
        assert "<redacted>" in text or "[hidden]" in text


@every_shape
def test_the_hub_keeps_no_value_that_an_earlier_agent_tells_of_drift(shape):
    """Agents one release older know fewer places: neither the row nor the event has the value."""
    for each in drift.compared(a_thing(shape), a_thing(shape, OTHER)):
        hub, member = (orjson.dumps(value).decode() for value in (each.hub, each.member))
        told = Drift(path=each.pointer, hub=hub, member=member, first_seen="2026-05-01T00:00:00Z")
        assert WORD in hub
        assert WORD not in str(bounded_drift(told))
        assert WORD not in drift_text("m1", told)
        cut = Drift(path=each.pointer, hub=hub[:-1] + "…", first_seen="2026-05-01T00:00:00Z")
        assert WORD not in str(bounded_drift(cut))


@every_shape
@pytest.mark.anyio
async def test_values_are_looked_for_in_logs_and_pods(tmp_path, shape):
    """Of a job of any kind; no name of a variable or a setting is."""
    async with served(tmp_path, Settings()) as hub:
        for each in (a_definition(), *a_queue("q"), a_swarm_with(shape)):
            reply = await hub.admin.post("/v1/apply", json=each)
            assert reply.status_code == 200, reply.text
        (job,) = (await hub.admin.get("/v1/jobs")).json()["items"]
        hidden = await hub.hub.read(places.values_of, job["uid"])
        assert hidden == ((f"{{{WORD}" if "not be read" in shape else WORD),)


@pytest.mark.parametrize("name", ["env", "envVars", "environment"])
def test_a_text_of_such_a_name_is_no_variable(name):
    """History and drift show `environment: production`, as the object's own answer does."""
    one, other = ({"kind": "Thing", "metadata": {}, "spec": {name: v}} for v in ("a", "b"))
    (field,) = changed_fields(one, other)[0]
    assert (field.before, field.after) == ('"a"', '"b"')
    (told,) = comparing.told(drift.compared(one, other), one, {}, "").values()
    assert (told.hub, told.member) == ('"a"', '"b"')


def test_history_and_drift_of_a_definition_tell_what_it_says():
    """A property named env is described there, not set."""
    one, other = (
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.org"},
            "spec": {"properties": {"env": {"type": kind}}},
        }
        for kind in ("array", "object")
    )
    (field,) = changed_fields(one, other)[0]
    assert (field.before, field.after) == ('"array"', '"object"')
    (told,) = comparing.told(drift.compared(one, other), one, {}, "").values()
    assert (told.hub, told.member) == ('"array"', '"object"')


@pytest.mark.parametrize(
    ("path", "value"),
    [("/a" * 5000, '"x"'), ("/a", "[" * 1000 + "]" * 1000)],
    ids=["path", "value"],
)
def test_drift_deeper_than_any_manifest_is_not_kept(path, value):
    """A member may say anything: it stops no report."""
    told = Drift(path=path, hub=value, member=value, first_seen="")
    assert bounded_drift(told)["member"] == '"<redacted>"'
