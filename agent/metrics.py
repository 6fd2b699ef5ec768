"""What an agent tells Prometheus, and the small server for /metrics and /healthz.

One registry per agent, so that many agents live in one process.
"""

import asyncio
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_LONGEST_REQUEST_LINE = 4096
_READ_S = 5.0


class Meters:
    """The agent's counters and gauges."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.steps = Counter(
            "roadstead_agent_steps",
            "Steps carried out in the member",
            ["step"],
            registry=self.registry,
        )
        self.syncs = Counter(
            "roadstead_agent_syncs", "Exchanges with the hub", ["outcome"], registry=self.registry
        )
        self.sync_seconds = Histogram(
            "roadstead_agent_sync_seconds",
            "Time the hub took to answer, polls that may hang left out",
            registry=self.registry,
        )
        self.works = Gauge("roadstead_agent_works", "Works desired", registry=self.registry)
        self.observed = Gauge(
            "roadstead_agent_observed", "Entries observed", registry=self.registry
        )
        self.lease_left = Gauge(
            "roadstead_agent_lease_seconds",
            "Seconds for which Jobs may still be created",
            registry=self.registry,
        )


async def serve(host: str, port: int, meters: Meters, alive: Callable[[], bool]) -> asyncio.Server:
    """Answer GET /metrics and GET /healthz (503 when `alive` says no) until the server is closed."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await asyncio.wait_for(reader.readline(), _READ_S)
            path = line[:_LONGEST_REQUEST_LINE].split(b" ")[1:2]
            status, kind, body = _page(path[0] if path else b"", meters, alive)
            head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
            await writer.drain()
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port)


def _page(path: bytes, meters: Meters, alive: Callable[[], bool]) -> tuple[str, str, bytes]:
    if path == b"/metrics":
        return (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            generate_latest(meters.registry),
        )
    if path in {b"/healthz", b"/livez", b"/readyz"}:
        fine = alive()
        return (
            ("200 OK" if fine else "503 Service Unavailable"),
            "text/plain",
            (b"ok\n" if fine else b"the loops have stopped\n"),
        )
    return "404 Not Found", "text/plain", b"not found\n"
