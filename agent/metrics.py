"""The agent's Prometheus metrics, and the server for /metrics and /healthz.

One registry per agent, so that many agents live in one process.
"""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.aiohttp import make_aiohttp_handler

_HEALTH = ("/healthz", "/livez", "/readyz")
_LAST_ANSWERS_S = 1.0  # for what is being answered when the agent stops


class Meters:
    """The agent's counters and gauges."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.steps = Counter(
            "roadstead_agent_steps",
            "Steps executed in the member",
            ["step"],
            registry=self.registry,
        )
        self.syncs = Counter(
            "roadstead_agent_syncs", "Exchanges with the hub", ["outcome"], registry=self.registry
        )
        self.sync_seconds = Histogram(
            "roadstead_agent_sync_seconds",
            "Response time of the hub, without long polls",
            registry=self.registry,
        )
        self.works = Gauge("roadstead_agent_works", "Works desired", registry=self.registry)
        self.observed = Gauge(
            "roadstead_agent_observed", "Entries observed", registry=self.registry
        )
        self.streams = Gauge(
            "roadstead_agent_streams", "Open streams of logs and pods", registry=self.registry
        )
        self.lease_left = Gauge(
            "roadstead_agent_lease_seconds",
            "Seconds for which Jobs may still be created",
            registry=self.registry,
        )


class MetricsServer:
    """GET /metrics, and the health paths: 503 when `alive` says no. It runs in the agent's own loop.

    So an agent whose loop hangs does not answer, and is started again.
    """

    def __init__(self, meters: Meters, alive: Callable[[], bool]) -> None:
        self._alive = alive
        pages = web.Application()
        pages.router.add_get("/metrics", make_aiohttp_handler(meters.registry))
        for path in _HEALTH:
            pages.router.add_get(path, self._health)
        self._runner = web.AppRunner(pages, access_log=None, shutdown_timeout=_LAST_ANSWERS_S)

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port (0: any free one). Raises OSError."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _health(self, _request: web.Request) -> web.Response:
        if self._alive():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="the loops have stopped\n")
