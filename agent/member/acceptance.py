"""Decides which namespaces of a member a hub may use, by marks on the namespace and the member's settings.

Usable are a namespace that is absent (the agent creates it), one that the agent created for this hub, one
that carries `roadstead.dev/accept: HUB-ID`, and one that `ROADSTEAD_AGENT_ACCEPTED_NAMESPACES` names
(docs/explain/ownership.md).
"""

from dataclasses import dataclass
from typing import Final

from agent.decide.decision import Trouble
from agent.decide.member_policy import REFUSED, MemberPolicy
from agent.objects.facts import Object, is_created, is_written_by_us
from shared import labels
from shared.consent import NOT_ACCEPTED, accept_command
from shared.podsecurity.rules import listed, matches
from shared.wire.consent import NamespaceState

_OF_PEOPLE: Final = frozenset({"Labelled", "Named", "NotAccepted"})
_BY_NAME_ALONE: Final = "default"  # no pattern matches it


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The rules of one member for one hub. Pure."""

    hub_id: str
    policy: MemberPolicy

    def state_of(self, namespace: Object | None, name: str) -> NamespaceState:
        """The state of a live namespace; None: there is no such namespace."""
        if namespace is None:
            return "Absent"
        if _is_made_by(namespace, self.hub_id):
            return "Created"
        return self._granted(namespace, name)

    def consents(self, namespace: Object, name: str) -> bool:
        """Do the member's people accept the hub in a namespace that they made?"""
        return self._granted(namespace, name) != "NotAccepted"

    def judge(self, namespace: Object, name: str) -> Trouble | None:
        """Refuse writes in a live namespace, or return None: it is usable."""
        return self.refusal(name) if self.state_of(namespace, name) == "NotAccepted" else None

    def refusal(self, name: str) -> Trouble:
        """Refuse writes in a namespace and name the command that grants consent."""
        command = accept_command(f"namespace {name}", self.hub_id)
        text = f"namespace {name} does not accept this hub; its people accept it by: {command}"
        return Trouble(NOT_ACCEPTED, text)

    def gives_tokens(self, namespace: Object, state: NamespaceState) -> bool:
        """May pods of the hub have tokens of ServiceAccounts? Where people made it, only by their label."""
        marks = namespace["metadata"].get("labels") or {}
        return state not in _OF_PEOPLE or marks.get(labels.ACCEPT_TOKENS) == "true"

    def no_token(self, name: str, path: str) -> Trouble:
        """Refuse a manifest that asks for a token, and name the command that allows it."""
        command = f"kubectl label namespace {name} {labels.ACCEPT_TOKENS}=true"
        said = f"namespace {name} gives pods of this hub no token; to allow it: {command}"
        text = f"TokenNotAllowed: {path}: {said}"
        return Trouble(REFUSED, text)

    def _granted(self, namespace: Object, name: str) -> NamespaceState:
        """The state by what the member's people decided, whoever created the namespace."""
        if never_accepts(name) or not self.policy.rules.admits(name):
            return "NotAccepted"
        marks = namespace["metadata"].get("labels") or {}
        if marks.get(labels.ACCEPT) == self.hub_id:
            return "Labelled"
        return "Named" if self._names(name) else "NotAccepted"

    def _names(self, name: str) -> bool:
        listing = self.policy.accepted
        return name in listed(listing) or (name != _BY_NAME_ALONE and matches(name, listing))


def never_accepts(namespace: str) -> bool:
    """Kubernetes' own namespaces accept no hub, whatever their labels say."""
    return namespace.startswith("kube-")


def _is_made_by(namespace: Object, hub_id: str) -> bool:
    """Created by the agent: by its mark, or by what earlier releases left on one that they made for Jobs."""
    if is_created(namespace, hub_id):
        return True
    marks = namespace["metadata"].get("labels") or {}
    return is_written_by_us(namespace, hub_id) and labels.JOB_UID not in marks
