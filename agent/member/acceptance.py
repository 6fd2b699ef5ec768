"""Decides which namespaces of a member a hub may use, by marks on the namespace and the member's settings.

Usable are a namespace that is absent (the agent creates it), one that the agent created for this hub and for
this very namespace of the hub, one that carries `roadstead.dev/accept: HUB-ID`, and one that
`ROADSTEAD_AGENT_ACCEPTED_NAMESPACES` names (docs/explain/ownership.md).
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from agent.decide.decision import Trouble
from agent.decide.member_policy import MemberPolicy
from agent.objects.facts import Object, is_created, is_namespace, is_written_by_us, owner_of
from shared import labels
from shared.consent import CLOSED, NO_TOKEN, NOT_ACCEPTED, refused, tokens_command
from shared.podsecurity.rules import listed, matches
from shared.wire.agent_v1 import Work
from shared.wire.consent import NamespaceState

_OF_PEOPLE: Final = frozenset({"Labelled", "Named", "Continued", "Replaced", "NotAccepted"})
_BY_NAME_ALONE: Final = "default"  # no pattern matches it


class Space(NamedTuple):
    """The facts of a namespace by which a hub may use it."""

    made_for: str | None  # see `made_for`
    granted: NamespaceState  # by the member's people, whoever created it
    has_token_label: bool = False
    uid: str = ""
    work: str = ""  # uid of the work that it stands for, of a placed one
    may_continue: bool = (
        True  # without consent, where mode Report lets it: not beyond the outer bound
    )
    name: str = ""

    def state(self, wanted: str | None) -> NamespaceState:
        """The state for a hub whose namespace of this name has the id `wanted`; None: it does not tell."""
        is_ours = self.made_for is not None
        if is_ours and (wanted is None or (wanted and wanted == self.made_for)):
            return "Created"
        if is_ours and self.granted == NOT_ACCEPTED:
            return "Replaced"
        return self.granted

    def gives_tokens(self, wanted: str | None) -> bool:
        """May pods of the hub have tokens of ServiceAccounts? Where people decide, only by their label."""
        return self.has_token_label or self.state(wanted) not in _OF_PEOPLE


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The rules of one member for one hub. Pure."""

    hub_id: str
    policy: MemberPolicy

    def state_of(
        self, namespace: Object | None, name: str, wanted: str | None = None
    ) -> NamespaceState:
        """The state of a live namespace; None: there is no such namespace.

        `wanted`: the id that the hub has for its namespace of this name; None: the hub does not tell it.
        """
        if namespace is None:
            return "Absent"
        return self.space(namespace, name).state(wanted)

    def space(self, namespace: Object, name: str) -> "Space":
        """The facts of a live namespace by which it is judged."""
        marks = namespace["metadata"].get("labels") or {}
        return Space(
            made_for(namespace, self.hub_id),
            self._granted(namespace, name),
            marks.get(labels.ACCEPT_TOKENS) == "true",
            str(namespace["metadata"].get("uid") or ""),
            owner_of(namespace, self.hub_id) or "",
            self._is_within(name),
            name,
        )

    def consents(self, namespace: Object, name: str) -> bool:
        """Do the member's people accept the hub in a namespace that they made?"""
        return self._granted(namespace, name) not in CLOSED

    def judge(self, namespace: Object, name: str, wanted: str | None) -> Trouble | None:
        """Refuse writes in a live namespace, or return None: it is usable."""
        state = self.state_of(namespace, name, wanted)
        return self.refusal(name, state) if state in CLOSED else None

    def refusal(self, name: str, state: NamespaceState) -> Trouble:
        """Refuse writes in a namespace and name the command that grants consent."""
        return Trouble(NOT_ACCEPTED, refused(name, state, self.hub_id))

    def no_token(self, name: str, path: str) -> Trouble:
        """Refuse a manifest that asks for a token, and name the command that allows it."""
        return Trouble(
            NO_TOKEN,
            f"{path}: namespace {name} of this cluster gives pods of the hub no token; its people allow it "
            f"with a kubeconfig of this cluster: {tokens_command(name)}",
        )

    def _granted(self, namespace: Object, name: str) -> NamespaceState:
        """The state by the decision of the member's people, whoever created the namespace."""
        if not self._is_within(name):
            return "NotAccepted"
        marks = namespace["metadata"].get("labels") or {}
        if marks.get(labels.ACCEPT) == self.hub_id:
            return "Labelled"
        return "Named" if self._names(name) else "NotAccepted"

    def _is_within(self, name: str) -> bool:
        return not never_accepts(name) and self.policy.rules.admits(name)

    def _names(self, name: str) -> bool:
        listing = self.policy.accepted
        return name in listed(listing) or (name != _BY_NAME_ALONE and matches(name, listing))


def never_accepts(namespace: str) -> bool:
    """Kubernetes' own namespaces accept no hub, whatever their labels say."""
    return namespace.startswith("kube-")


def made_for(namespace: Object, hub_id: str) -> str | None:
    """The id of the hub's namespace that the agent created this one for; None: it did not create it.

    One that a release without ids placed tells it by the uid of its work, as long as that stands. "": it was
    created by a release that wrote no id, for a Job.
    """
    marks = namespace["metadata"].get("labels") or {}
    if is_created(namespace, hub_id):
        notes = namespace["metadata"].get("annotations") or {}
        return str(notes.get(labels.NAMESPACE_ID) or owner_of(namespace, hub_id) or "")
    if is_written_by_us(namespace, hub_id) and labels.JOB_UID not in marks:
        return ""
    return None


def is_created_for(live: Object, work: Work, hub_id: str) -> bool:
    """Did the agent create the live object for this work? A Namespace of another id it did not."""
    if not is_created(live, hub_id):
        return False
    tells = is_namespace(live) and work.namespace_id is not None
    return not tells or made_for(live, hub_id) == work.uid
