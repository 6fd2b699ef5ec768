"""Verifies tokens with the hub cluster (TokenReview): every hub, over its own connection.

Nothing is written there: a review is an answer and leaves no object.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from hub.services.access.sign_in.reviews import ClusterSilent, Review
from hub.services.context.hub import Hub
from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.errors import KubeError, NotConfigured, Unavailable

_MANAGER: Final = "roadstead"
_TIMEOUT_S: Final = 4.0
_CONNECTIONS: Final = 4


def reviewing(hub: Hub, kubeconfig: Path | str | None) -> list[Callable[[], Awaitable[None]]]:
    """Let the hub ask its hub cluster whose tokens are, where that is set; the loop of that connection."""
    audience = hub.settings.token_reviews.audience
    if not audience:
        return []
    reviews = HubClusterReviews(kubeconfig, audience, hub.clock)
    hub.sign_in.review(audience, reviews.ask)
    return [reviews.run]


class HubClusterReviews:
    """`kubeconfig` is the hub cluster's; None: the account of the pod that this is."""

    def __init__(self, kubeconfig: Path | str | None, audience: str, clock: Clock) -> None:
        self._kubeconfig, self._audience, self._clock = kubeconfig, audience, clock
        self._client: KubeClient | None = None
        self._connecting = asyncio.Lock()

    async def run(self) -> None:
        """Keep the connection until cancelled, then close it."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._client is not None:
                await self._client.close()

    async def ask(self, token: str) -> Review:
        """What the cluster says of a token. Raises ClusterSilent."""
        wanted = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {},
            "spec": {"token": token, "audiences": [self._audience]},
        }
        try:
            client = await self._connected()
            told = await client.create(wanted, field_manager=_MANAGER, timeout_s=_TIMEOUT_S)
        except Unavailable as failure:
            raise ClusterSilent(failure.message[:200]) from failure
        except (KubeError, NotConfigured, OSError) as failure:
            raise ClusterSilent(str(failure)[:200]) from failure
        return _read(told.get("status"))

    async def _connected(self) -> KubeClient:
        async with self._connecting:
            if self._client is None:
                self._client = await KubeClient.connect(
                    self._kubeconfig, clock=self._clock, connections=_CONNECTIONS
                )
            return self._client


def _read(status: object) -> Review:
    told = status if isinstance(status, dict) else {}
    user = told.get("user")
    who = user if isinstance(user, dict) else {}
    return Review(
        told.get("authenticated") is True,
        str(who.get("username") or ""),
        _texts(who.get("groups")),
        _texts(told.get("audiences")),
    )


def _texts(given: object) -> list[str]:
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
