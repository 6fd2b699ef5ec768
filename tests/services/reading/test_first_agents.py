"""Agents of before the protocol by which jobs run once: understood, and given nothing new."""

import datetime as dt

import orjson

from hub.services.reading import first_agents
from shared.session_ids import new_session
from shared.wire.agent_v1 import Capacity, SyncRequest

REQUEST = {"session": "session-1", "seq": 1, "cluster_uid": "u"}
REPLY = {
    "hub_id": "h",
    "desired": {"works": [{"uid": "a", "fresh": True, "seen": True}], "removed": []},
    "orders": [],
    "mark": {"run": "r"},
    "need_full": False,
}


def test_they_are_known_by_what_they_do_not_say():
    """A session of a later agent says when it began; some name their marks, be there any or not."""
    began = new_session(dt.datetime(2026, 5, 1, tzinfo=dt.UTC))
    assert first_agents.is_first(SyncRequest.model_validate(REQUEST))
    assert not first_agents.is_first(SyncRequest.model_validate({**REQUEST, "marks": []}))
    assert not first_agents.is_first(SyncRequest.model_validate({**REQUEST, "session": began}))


def test_their_member_counts_as_unhealthy():
    """By what keeps new work from a member whose API server is away; where they tell of capacity."""
    capacity = Capacity(pools_revision=0, pools=[], bound=[])
    message = SyncRequest.model_validate({**REQUEST, "capacity": capacity.model_dump()})
    first_agents.hold_back(message)
    assert message.capacity.api_server.reason == first_agents.REASON
    first_agents.hold_back(SyncRequest.model_validate(REQUEST))


def test_their_reply_has_nothing_that_they_refuse():
    """What is left is as it was."""
    told = orjson.loads(first_agents.readable(orjson.dumps(REPLY)))
    assert told == {
        "hub_id": "h",
        "desired": {"works": [{"uid": "a", "seen": True}], "removed": []},
        "need_full": False,
    }
