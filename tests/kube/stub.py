"""An API server of a few lines that misbehaves as told: 410, 429, 504, silence, broken streams.

It serves ConfigMaps of one namespace and keeps a history from which watches start. What goes wrong
is put in by hand: `faults` answers the next requests, `compact` makes old versions too old.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiohttp import web

Fault = Callable[[web.Request], web.StreamResponse | None]


def status(code, reason, message="no", headers=None, **details):
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return web.json_response(body, status=code, headers=headers)


class Stub:
    """The server's state."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.version = 1
        self.oldest = 0
        self.faults: list[Fault] = []
        self.served = True
        self.silent = False  # watches get nothing any more, and do not end
        self.brief = False  # watches end at once, properly, and had nothing to say
        self.requests: list[tuple[str, str]] = []
        self.watches = 0
        self._changed = asyncio.Event()
        self._cut = asyncio.Event()

    # --- the script ------------------------------------------------------------------------------

    def put(self, name: str, value: str = "1") -> dict[str, Any]:
        kind = "MODIFIED" if name in self.objects else "ADDED"
        uid = (
            self.objects[name]["metadata"]["uid"]
            if kind == "MODIFIED"
            else f"{name}-{self.version}"
        )
        self.version += 1
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": uid,
                "resourceVersion": str(self.version),
            },
            "data": {"value": value},
        }
        self.objects[name] = obj
        self._log(kind, obj)
        return obj

    def delete(self, name: str) -> None:
        self.version += 1
        obj = self.objects.pop(name)
        gone = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self._log("DELETED", gone)

    def _log(self, kind: str, obj: dict[str, Any]) -> None:
        self.history.append((self.version, kind, obj))
        self._changed.set()
        self._changed = asyncio.Event()

    def compact(self) -> None:
        """Forget the history: watches from before now are too old."""
        self.oldest = self.version
        self.history.clear()

    def cut(self) -> None:
        """Break every watch."""
        self._cut.set()
        self._cut = asyncio.Event()

    # --- the server ------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        if self.faults and (answer := self.faults.pop(0)(request)) is not None:
            return answer
        if request.path == "/api/v1":
            verbs = ["create", "delete", "get", "list", "patch", "watch"]
            entry = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": verbs}
            return web.json_response({"resources": [entry] if self.served else []})
        if request.query.get("watch"):
            return await self._watch(request)
        if request.method == "GET" and request.path.endswith("configmaps"):
            return self._list(request)
        if request.method == "GET":
            found = self.objects.get(request.path.rpartition("/")[2])
            return web.json_response(found) if found else status(404, "NotFound")
        if request.method == "POST":
            given = orjson.loads(await request.read())
            return web.json_response(self.put(given["metadata"]["name"]), status=201)
        return status(405, "MethodNotAllowed")

    def _list(self, request: web.Request) -> web.Response:
        names = sorted(self.objects)
        start = int(request.query.get("continue") or 0)
        limit = int(request.query.get("limit") or 0) or len(names)
        page = names[start : start + limit]
        metadata: dict[str, Any] = {"resourceVersion": str(self.version)}
        if start + limit < len(names):
            metadata["continue"] = str(start + limit)
        items = [
            {k: v for k, v in self.objects[n].items() if k not in {"kind", "apiVersion"}}
            for n in page
        ]
        return web.json_response({"metadata": metadata, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        self.watches += 1
        since = int(request.query["resourceVersion"])
        if since < self.oldest:
            return status(410, "Expired", "too old resource version")
        response = web.StreamResponse()
        await response.prepare(request)
        if self.brief:
            return response
        cut = self._cut
        while not cut.is_set():
            changed = self._changed
            if not self.silent:
                for version, kind, obj in self.history:
                    if version > since:
                        since = version
                        await response.write(orjson.dumps({"type": kind, "object": obj}) + b"\n")
            waits = {asyncio.ensure_future(changed.wait()), asyncio.ensure_future(cut.wait())}
            _, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in left:
                task.cancel()
        if request.transport is not None:
            request.transport.abort()  # in the middle of the stream, as a dying server does
        return response


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Stub, Path]]:
    """A stub on a port of its own, and a kubeconfig for it."""
    stub = Stub()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", stub.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    kubeconfig = folder / "stub.kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "stub",
                "clusters": [{"name": "stub", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "stub", "user": {"token": "secret"}}],
                "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
            }
        )
    )
    try:
        yield stub, kubeconfig
    finally:
        stub.cut()
        await runner.cleanup()
