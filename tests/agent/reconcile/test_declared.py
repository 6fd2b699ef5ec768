"""Rules of availability that come from the hub while the agent holds objects."""

import pytest

from shared.wire.availability_rules import AvailabilityRule
from tests.agent.build import a_namespace
from tests.agent.scripted_hub import an_object
from tests.agent.things import THING, THINGS

pytestmark = pytest.mark.anyio


def the_rule(available, message=""):
    return AvailabilityRule(
        group="example.org", kind="Thing", available=available, message=message
    )


async def told(member, **wanted):
    """The entry of the object, once it is as wanted."""
    return await member.hub.until(
        lambda hub: (
            (entry := hub.observed.get("o-1"))
            and all(getattr(entry, name) == value for name, value in wanted.items())
            and entry
        )
    )


async def test_objects_are_looked_at_anew_when_their_kinds_rule_changes(member):
    """Not tracked without one; then by the rule, in its words; a rule that goes leaves no trace."""
    member.hub.put(an_object(THINGS, "o-2"), an_object(THING, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await told(member, available=None)
    member.hub.declare(the_rule("object.spec.size == 2", "string(object.spec.size) + ' of 2'"))
    entry = await told(member, available=False)
    assert (entry.reason, entry.message) == ("NotAvailable", "1 of 2")
    member.hub.declare(the_rule("object.spec.size == 1"))
    entry = await told(member, available=True)
    assert (entry.reason, entry.message) == ("", "")
    member.hub.declare()
    await told(member, available=None)


async def test_rules_are_asked_for_until_they_are_held(member):
    """By their revision, in a header, which a hub of an earlier release leaves unread."""
    member.hub.declare(the_rule("true"))
    member.hub.put(an_object(a_namespace("other"), "o-3"))
    member.start()
    await member.hub.until(lambda hub: hub.requests and hub.requests[-1].availability == 1)
    assert [request.availability for request in member.hub.requests][:2] == [0, 1]


async def test_a_rule_that_is_none_here_stops_nothing(member):
    """Of a later release, perhaps: the kind is not tracked, and other works go on."""
    member.hub.declare(the_rule("a_later_function(object)"), the_rule("object.(", "'"))
    member.hub.put(an_object(THINGS, "o-2"), an_object(THING, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    assert (await told(member, available=None)).phase == "Applied"
