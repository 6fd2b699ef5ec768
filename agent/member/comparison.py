"""Compares one object with what is in the member, and writes nothing: for works that are only compared.

The agent asks the API server, by a dry run, for the result of an apply by force: so defaulted and
normalised fields are no difference. If it refuses (an immutable field), the agent compares the texts.

A foreign object is compared only with the consent of the member's people, and the report leaves out values
that the manifest does not name.
"""

from typing import NamedTuple

from agent.decide.decision import Comparison, Trouble
from agent.decide.member_policy import names_another
from agent.member.acceptance import Acceptance, is_created_for
from agent.member.consent import Consent
from agent.member.refusals import refused
from agent.objects import drift
from agent.objects.drift import ABSENT, Difference, Object
from agent.objects.facts import is_created, owner_of
from agent.objects.full_comparison import additions, hidden
from agent.objects.manifests import stamped_over
from shared import labels
from shared.consent import NOT_ACCEPTED
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Work

WHOLE = "(the whole object)"


class Compared(NamedTuple):
    """The differences of an object, or the reason why they are unknown."""

    found: list[Difference]
    comparison: Comparison = Comparison()
    trouble: Trouble | None = None


async def compare(client: KubeClient, work: Work, acceptance: Acceptance) -> Compared:
    """Read the object by its name; one that is absent differs as a whole."""
    assert work.manifest is not None
    if (other := names_another(work)) is not None:
        return Compared([], trouble=other)
    hub_id, consent = acceptance.hub_id, Consent(client, acceptance)
    try:
        live = await _read(client, work)
        if live is None:
            if await consent.tells_absence(work):
                return Compared([Difference((), WHOLE, ABSENT)])
            return _not_accepted(work, consent)
        ours = is_created_for(live, work, hub_id) or owner_of(live, hub_id) == work.uid
        if not ours and not await consent.covers(live):
            return _not_accepted(work, consent)
    except errors.NotServed as missing:
        return Compared([], trouble=Trouble("KindNotServed", missing.message))
    except errors.KubeError as refusal:
        return Compared([], trouble=refused(refusal))
    found, note = drift.compared(work.manifest, live), ""
    if found:
        found, note = await _as_applied(client, work, live, hub_id, found)
    if work.compare_all:
        found = [*found, *additions(work.manifest, live, labels.FIELD_MANAGER)]
    if not is_created(live, hub_id):
        found = hidden(found)
    return Compared(found, Comparison(int(live["metadata"].get("generation") or 0), note))


async def _read(client: KubeClient, work: Work) -> Object | None:
    """Read the object by its name; None if the member lacks it. Raises KubeError."""
    try:
        return await client.get(work.api_version, work.kind, work.namespace, work.name)
    except errors.KindNotServed:
        raise
    except errors.NotFound:
        return None


def _not_accepted(work: Work, consent: Consent) -> Compared:
    where = f"namespace {work.namespace}" if work.namespace else f"{work.kind} {work.name}"
    command = consent.command(work.kind, work.name, work.namespace)
    text = f"{where} belongs to people of this cluster; to let this hub compare: {command}"
    return Compared([], trouble=Trouble(NOT_ACCEPTED, text))


async def _as_applied(
    client: KubeClient, work: Work, live: Object, hub_id: str, suspected: list[Difference]
) -> tuple[list[Difference], str]:
    manifest = stamped_over(work, hub_id, live)
    manifest["metadata"]["uid"] = live["metadata"]["uid"]
    try:
        dry = await client.apply(
            manifest, field_manager=labels.FIELD_MANAGER, force=True, dry_run=True
        )
    except errors.KubeError as refusal:
        return suspected, f"compared as texts, for a dry run was refused: {refusal.message}"
    return drift.compared(dry, live), ""
