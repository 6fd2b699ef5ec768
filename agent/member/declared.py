"""The ConfigMap by which a member's administrator adds properties, watched.

It is in the agent's own namespace, which the agent's policy and its admission policy keep from hubs.
"""

from collections.abc import Callable
from typing import Final

from agent.member.properties import CONFIG_MAP, MOST_CHARS, Declared, read_declared
from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.informer import EventType, Informer

_FORBIDDEN_S: Final = 60.0  # until the next check whether it may be read


class DeclaredProperties:
    """The present content of the ConfigMap. `news` is called when that changes."""

    def __init__(
        self, client: KubeClient, namespace: str, clock: Clock, news: Callable[[], None]
    ) -> None:
        self._where = f"ConfigMap {namespace}/{CONFIG_MAP}"
        self._news = news
        self._changes = 0
        self._informer: Informer[Declared] = Informer(
            client,
            "v1",
            "ConfigMap",
            namespace=namespace,
            field_selector=f"metadata.name={CONFIG_MAP}",
            transform=lambda config_map, _previous: read_declared(config_map),
            on_event=self._changed,
            forbidden_s=_FORBIDDEN_S,
            clock=clock,
        )

    @property
    def revision(self) -> int:
        """A new object whenever the content changes."""
        return 2 * self._changes + bool(self._informer.refused)

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._informer.run()

    def told(self) -> Declared:
        """The report."""
        if self._informer.refused:
            text = f"{self._where} can not be read: {self._informer.refused}"
            return Declared(faults=(text[:MOST_CHARS],))
        return next(iter(self._informer.cache.values()), Declared())

    def _changed(self, event: EventType, old: Declared | None, new: Declared | None) -> None:
        if event == "DELETED" or old != new:
            self._changes += 1
            self._news()
