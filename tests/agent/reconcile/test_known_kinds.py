"""The definitions that a hub tells are those of the agent where both bring the kind."""

from agent.reconcile.kind_readings import known_kinds
from hub.services.reading.kind_definitions import told
from shared.kinds.dispatched import DISPATCHED
from shared.wire.kind_rules import KindDefinition


def test_every_dispatched_kind_that_a_hub_tells_is_known() -> None:
    """Also one that a plug-in reads: without its definition no end of it would ever be seen."""
    given = [KindDefinition.model_validate(each) for each in told()["definitions"]]
    _, named = known_kinds(given)
    assert {each.name for each in given} == named.keys()
    assert all(each.trusted for each in named.values())
    kinds = {(f"{d.of.group}/{d.of.version}", d.of.kind) for d in named.values()}
    assert kinds >= DISPATCHED
