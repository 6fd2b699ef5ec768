"""Finds the kinds of which earlier sessions left objects of this hub, and has them watched.

An agent watches the kinds of the hub's works. After a restore of the hub's store, or a restart of the agent,
objects may still be there of kinds that no work has: without a watch the agent would not report them. So each
session lists every other kind once, as metadata and by the hub's label: those that the rules of its account
name, so that the member's audit log has no refused requests. It lists a kind again if the API server did not
answer.
"""

from collections.abc import Iterable
from typing import Final

import structlog

from agent.decide.member_policy import MemberPolicy
from agent.member.observer import KindKey, Observer
from agent.objects.facts import Object, is_written_by_us
from agent.objects.holds import JOB
from shared import labels
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.discovery import Endpoint

log = structlog.get_logger(__name__)

AFTER_S: Final = 5.0  # the session's own lists come first
AGAIN_S: Final = 30.0
_NEEDED: Final = frozenset(
    {"list", "watch", "delete"}
)  # a kind without one of them cannot be placed
_EVENT: Final = "Event"
_NOT_FOR_US: Final = frozenset({403, 404, 405})  # no right, or no longer served as a list


class LeftoverKinds:
    """One search, for one member and one hub."""

    def __init__(
        self,
        client: KubeClient,
        observer: Observer,
        hub_id: str,
        clock: Clock,
        policy: MemberPolicy,
    ) -> None:
        self._client, self._observer, self._hub_id, self._clock = client, observer, hub_id, clock
        self._places = policy.profile != "jobs"  # else its account writes nothing but Jobs

    async def run(self) -> None:
        """Search until each kind was listed or refused; then return."""
        if not self._places:
            return
        await self._clock.sleep(AFTER_S)
        left = await self._kinds()
        while left := await self._search(left):
            await self._clock.sleep(AGAIN_S)

    async def _kinds(self) -> list[KindKey]:
        """One version of each kind; asked until the member tells which it serves."""
        while True:
            try:
                served = tuple((await self._client.server_resources()).values())
                rules = await self._rules()
                return _one_version(each for each in served if may_list(rules, each))
            except errors.KubeError as failure:
                log.info("leftovers.retry", reason=failure.reason, error=failure.message)
                await self._clock.sleep(AGAIN_S)

    async def _rules(self) -> list[Object] | None:
        """The rules of the agent's account; None: the API server does not tell, so each kind is tried.

        Rules of the namespace that is asked about are among them: such a kind is refused, and skipped.
        """
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "metadata": {},
            "spec": {"namespace": "default"},
        }
        try:
            answer = await self._client.create(review, field_manager=labels.FIELD_MANAGER)
        except errors.KubeError as failure:
            if failure.status in _NOT_FOR_US:
                return None
            raise
        rules = (answer.get("status") or {}).get("resourceRules")
        return rules if isinstance(rules, list) else None

    async def _search(self, kinds: Iterable[KindKey]) -> list[KindKey]:
        """List these; those that got no answer."""
        unanswered = []
        for key in kinds:
            if self._observer.is_wanted(*key):
                continue
            try:
                if await self._has_ours(key):
                    log.info("leftovers.found", kind=f"{key[0]}/{key[1]}")
                    self._observer.want(*key)
            except errors.KubeError as failure:
                if failure.status not in _NOT_FOR_US:
                    unanswered.append(key)
        return unanswered

    async def _has_ours(self, key: KindKey) -> bool:
        """Tell by the managed fields: pods and copies carry the label too."""
        selector = f"{labels.MANAGED_BY}={self._hub_id}"
        found = await self._client.list(*key, label_selector=selector, metadata_only=True)
        return any(is_written_by_us(each, self._hub_id) for each in found.items)


def may_list(rules: list[Object] | None, kind: Endpoint) -> bool:
    """Tell by the rules of an account if it may list a kind; an asterisk stands for all."""
    if rules is None:
        return True
    group = kind.api_version.rpartition("/")[0]
    wanted = (("verbs", "list"), ("apiGroups", group), ("resources", kind.plural))
    return any(
        all({name, "*"} & set(rule.get(field) or ()) for field, name in wanted)
        and not rule.get("resourceNames")
        for rule in rules
    )


def _one_version(endpoints: Iterable[Endpoint]) -> list[KindKey]:
    found: dict[tuple[str, str], KindKey] = {}
    for each in endpoints:
        key = (each.api_version, each.kind)
        if each.verbs >= _NEEDED and key != JOB and each.kind != _EVENT:
            found.setdefault((each.api_version.rpartition("/")[0], each.plural), key)
    return list(found.values())
