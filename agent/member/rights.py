"""May the agent's account create Jobs in a namespace? Asked at the start, after a refusal, then until it may.

403 to a create has several causes: RBAC, quota, a webhook, a policy. A SelfSubjectAccessReview tells the
first from the others by a field, so nothing is concluded from the message. The agent reports missing
rights with the capacity: the hub gives such a member no Jobs of that namespace, and its other work
continues.

An agent that starts does not know its rights yet and reports None: the hub keeps what it has stored. RBAC is
additive: one review of all namespaces answers for each, if it allows. Else one follows for each named one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from agent.decide.decision import Outcome, Trouble
from agent.member.observer import Observer
from shared import labels
from shared.clock import Clock
from shared.consent import CREATE_FORBIDDEN
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import MOST_FORBIDDEN, Work
from shared.wire.versions import KINDS, NEWEST

log = structlog.get_logger(__name__)

ASK_AGAIN_S: Final = 10.0
_NAMED_S: Final = 1.0  # between two looks whether the hub has named namespaces: no request
_EVERYWHERE: Final = ""  # as the namespace of a review
_ASKED_S: Final = 5.0  # for the answer
_FIRST_ANSWER_S: Final = 3.0  # after the start


def kind_forbidden(work: Work, outcome: Outcome) -> Outcome:
    """Name the right in the trouble of a refused create of an object that is no Job; others as they are."""
    trouble = outcome.trouble
    if trouble is None or not outcome.forbidden or trouble.reason != "ApplyFailed":
        return outcome
    text = (
        f"the agent may not create {work.kind} in namespace {work.namespace} (403): grant its account get, "
        f"list, watch, create, patch and delete on that kind, by jobKinds of the agent's chart "
        f"({trouble.message})"
    )
    return replace(outcome, trouble=Trouble("KindForbidden", text))


def unread_kinds(observer: Observer, protocol: int = NEWEST) -> list[str]:
    """Served kinds of jobs, as apiVersion/Kind, that the agent's account may not list and watch.

    None of them where the hub's protocol knows no such report.
    """
    if protocol < KINDS:
        return []
    return ["/".join(key) for key in observer.job_kinds() or () if observer.refused(*key)]


class Rights:
    """Namespaces in which the agent's account may not create Jobs. A change calls `news`."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        news: Callable[[], None],
        named: Callable[[], list[str] | None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._news = news
        self._named = named  # what the hub asks about; None: it has named none yet
        self._lacking: set[str] = set()
        self._is_known = False
        self._since = clock.monotonic()
        self.revision = 0

    async def run(self) -> None:
        """Find out what is missing, then ask about that until cancelled."""
        await self._find_out()
        while True:
            await self._clock.sleep(ASK_AGAIN_S)
            for namespace in sorted(self._lacking):
                if await self._may_create(namespace):
                    self._lacking.discard(namespace)
                    self._changed(namespace, allowed=True)

    @property
    def is_settled(self) -> bool:
        """May the capacity go? Known, or the member has had its time to answer."""
        return self._is_known or self._clock.monotonic() - self._since > _FIRST_ANSWER_S

    @property
    def is_asked(self) -> bool:
        """Has the hub named namespaces? One of a release before names none, and knows no rights."""
        return self._named() is not None

    def told(self) -> list[str] | None:
        """At most `MOST_FORBIDDEN` namespaces, as the agent reports them; None: not known yet."""
        return sorted(self._lacking)[:MOST_FORBIDDEN] if self._is_known else None

    def refusal(self, work: Work) -> Trouble | None:
        """Refuse a create that the member would refuse; None: it may be tried."""
        if work.namespace not in self._lacking:
            return None
        text = f"the agent's account may not create Jobs in namespace {work.namespace}"
        return Trouble(CREATE_FORBIDDEN, text)

    async def judge(self, work: Work, outcome: Outcome) -> Outcome:
        """Name the missing right as the trouble of a refused create, if that is the cause."""
        trouble = outcome.trouble
        if trouble is None or not outcome.forbidden or trouble.reason != "ApplyFailed":
            return outcome
        if await self._may_create(work.namespace) is not False:
            return outcome
        if work.namespace not in self._lacking:
            self._lacking.add(work.namespace)
            self._changed(work.namespace, allowed=False)
        return replace(outcome, trouble=self.refusal(work))

    async def judge_patch(self, work: Work, outcome: Outcome) -> Outcome:
        """Name the missing right in the trouble of a refused patch, if that is the cause.

        The Job is there: the agent can neither start nor release it before it has the right.
        """
        if outcome.trouble is None or not outcome.forbidden:
            return outcome
        if await self._may(work.namespace, "patch") is not False:
            return outcome
        text = (
            f"the agent's account may not patch Jobs in namespace {work.namespace} (403): grant it verb "
            "patch on jobs.batch there"
        )
        return replace(outcome, trouble=Trouble(outcome.trouble.reason, text))

    async def _find_out(self) -> None:
        """Ask until all is answered; a create that is refused meanwhile counts as it does later."""
        while (everywhere := await self._may_create(_EVERYWHERE)) is None:
            await self._clock.sleep(ASK_AGAIN_S)
        if not everywhere:
            await self._ask_about_named()
        self._is_known = True
        self.revision += 1
        self._news()

    async def _ask_about_named(self) -> None:
        """Ask about all names, in order, or until as many lack the right as are reported."""
        answered: set[str] = set()
        while True:
            named = self._named()
            left = sorted(set(named or ()) - answered)
            for namespace in left:
                if len(self._lacking) >= MOST_FORBIDDEN:
                    return
                allowed = await self._may_create(namespace)
                if allowed is None:
                    continue
                answered.add(namespace)
                if not allowed and namespace not in self._lacking:
                    self._lacking.add(namespace)
                    self._changed(namespace, allowed=False)
            if named is not None and answered.issuperset(left):
                return
            await self._clock.sleep(_NAMED_S if named is None else ASK_AGAIN_S)

    async def _may_create(self, namespace: str) -> bool | None:
        return await self._may(namespace, "create")

    async def _may(self, namespace: str, verb: str) -> bool | None:
        """Ask the member; None: it does not answer."""
        wanted = {"group": "batch", "resource": "jobs", "verb": verb, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": wanted},
        }
        try:
            answer = await self._client.create(
                review, field_manager=labels.FIELD_MANAGER, timeout_s=_ASKED_S
            )
        except errors.KubeError:
            return None
        allowed = (answer.get("status") or {}).get("allowed")
        return allowed if isinstance(allowed, bool) else None

    def _changed(self, namespace: str, *, allowed: bool) -> None:
        self.revision += 1
        log.warning("rights.jobs", namespace=namespace, may_create=allowed)
        self._news()
