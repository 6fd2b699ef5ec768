"""On which terms an agent speaks: the protocol that was chosen, what it is, and who renews its credential."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from hub.store.records.works import StandingWork
from shared.documents import Json
from shared.wire import versions

ROTATES = 2  # the first protocol in which credentials are replaced
TOO_OLD: Final = "AgentTooOld"
BLIND: Final = "the agent runs Jobs alone: what it says of other kinds proves nothing; upgrade it"


@dataclass(frozen=True, slots=True)
class AgentTerms:
    """Of one request. `successor`: asks for a new credential, None while the old one is fresh enough."""

    protocol: int = versions.OLDEST
    version: str = ""
    plain_http: bool = False
    client_certificate: bool = False
    successor: Callable[[], Awaitable[Json | None]] | None = None

    def facts(self) -> Json:
        """The stored facts about the agent when its session begins."""
        return {
            "version": self.version,
            "protocol": self.protocol,
            "plainHttp": self.plain_http,
            "clientCertificate": self.client_certificate,
        }

    async def rotation(self) -> Json | None:
        """The reply's part about the agent's credential; None: nothing."""
        if self.successor is None or self.protocol < ROTATES:
            return None
        return await self.successor()


def is_blind(protocol: int, work: StandingWork) -> bool:
    """Whether an agent that speaks it sees nothing of a work: it would say of a JobSet that it is gone."""
    return work.epoch > 0 and work.kind != "Job" and protocol < versions.KINDS
