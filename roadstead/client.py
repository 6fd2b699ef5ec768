"""The SDK: one class, one method per thing a person does. The command line is built on it.

    from roadstead import Client

    with Client() as hub:                       # address and token as `roadstead` finds them
        job = hub.submit(open("job.yaml", "rb").read())
        job = hub.wait(job["uid"])
        print(job["state"], job["cluster"])

Objects are the hub's JSON, as plain dictionaries. Errors: see `roadstead.errors`.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Self

from roadstead.context import resolve
from roadstead.errors import RoadsteadError
from roadstead.transport import Transport

Json = dict[str, Any]
TERMINAL_STATES = frozenset({"Succeeded", "Failed", "Cancelled", "Deactivated"})
_BATCH = 1000
_PAGE = 500


class Client:
    """A connection to one hub. Not for use by several threads at once."""

    def __init__(self, server: str | None = None, token: str | None = None) -> None:
        context = resolve(server, token)
        self.server = context.server
        self._http = Transport(context.server, context.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    # -- jobs ---------------------------------------------------------------------------------

    def submit(self, manifest: bytes | Json, *, key: str | None = None) -> Json:
        """Submit one Job (a dictionary, or JSON or YAML bytes); returns it as the hub holds it.

        `key` is the Idempotency-Key: the same key and body give the same answer. One is made up
        when none is given, so that a repeated request after a cut connection submits once.
        """
        body, content_type = _body(manifest)
        return self._object(
            "POST",
            "/v1/jobs",
            body=body,
            content_type=content_type,
            headers={"Idempotency-Key": key or str(uuid.uuid4())},
        )

    def submit_many(self, manifests: Iterable[Json]) -> Iterator[Json]:
        """Submit any number of Jobs, a thousand to a request; yields one result per Job, in order."""
        chunk: list[bytes] = []
        for manifest in manifests:
            chunk.append(json.dumps(manifest, separators=(",", ":")).encode())
            if len(chunk) == _BATCH:
                yield from self._submit_chunk(chunk)
                chunk = []
        if chunk:
            yield from self._submit_chunk(chunk)

    def jobs(self, **filters: str | int | None) -> Iterator[Json]:
        """All jobs that match: namespace, queue, state, cluster, name, labelSelector, limit."""
        yield from self._pages("/v1/jobs", filters)

    def job(self, name: str) -> Json:
        """One job by uid or by `namespace/name`."""
        return self._object("GET", _job_path(name))

    def explain(self, name: str) -> Json:
        """Where a job is and why: position, blocking rule in numbers, verdict per cluster."""
        return self._object("GET", f"{self._by_uid(name)}/explain")

    def job_events(self, name: str) -> list[Json]:
        """What happened to a job, oldest first."""
        return self._items("GET", f"{self._by_uid(name)}/events")

    def cancel(self, name: str) -> Json:
        """Stop a job wherever it is; it ends Cancelled once it is certain that nothing runs."""
        return self._object("POST", f"{self._by_uid(name)}/cancel")

    def wait(self, name: str, *, timeout_s: float | None = None, every_s: float = 0.5) -> Json:
        """Return the job once it has ended. Raises RoadsteadError after `timeout_s`."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        path = self._by_uid(name)
        while True:
            job = self._object("GET", path)
            if job["state"] in TERMINAL_STATES:
                return job
            if deadline is not None and time.monotonic() > deadline:
                raise RoadsteadError(f"{name} is {job['state']} after {timeout_s:g} s")
            time.sleep(every_s)

    # -- objects ------------------------------------------------------------------------------

    def apply(self, manifests: bytes, *, content_type: str = "application/yaml") -> Json:
        """Apply documents of any kind, as `kubectl apply` would; returns a result per document."""
        return self._object("POST", "/v1/apply", body=manifests, content_type=content_type)

    def queues(self) -> list[Json]:
        """Every ClusterQueue with quota, usage and its LocalQueues."""
        return self._items("GET", "/v1/queues")

    def queue(self, name: str) -> Json:
        """One ClusterQueue, or a LocalQueue as `namespace/name`."""
        return self._object("GET", f"/v1/queues/{name}")

    def clusters(self) -> list[Json]:
        """Every member cluster with its capacity and heartbeat."""
        return self._items("GET", "/v1/clusters")

    def cluster(self, name: str) -> Json:
        """One member cluster."""
        return self._object("GET", f"/v1/clusters/{name}")

    def add_cluster(
        self, name: str, labels: dict[str, str] | None = None, taints: list[Json] | None = None
    ) -> Json:
        """Declare a member; the answer holds its one-time join token."""
        body, _ = _body({"name": name, "labels": labels or {}, "taints": taints or []})
        return self._object("POST", "/v1/clusters", body=body)

    def join_token(self, name: str) -> Json:
        """A fresh one-time join token for a declared member; earlier unused ones end."""
        return self._object("POST", f"/v1/clusters/{name}/join-token")

    def cordon(self, name: str, *, on: bool = True) -> Json:
        """Stop (or allow again) new work on a member; what runs there goes on."""
        return self._object("POST", f"/v1/clusters/{name}/{'cordon' if on else 'uncordon'}")

    def placements(self) -> list[Json]:
        """Every placement with what it selected and where it put it."""
        return self._items("GET", "/v1/placements")

    def placement(self, name: str) -> Json:
        """One ClusterResourcePlacement, or a ResourcePlacement as `namespace/name`."""
        return self._object("GET", f"/v1/placements/{name}")

    def drift(self) -> list[Json]:
        """Every object that no longer is as the hub wants it, with path and both values."""
        return self._items("GET", "/v1/drift")

    def events(self, **filters: str | int | None) -> list[Json]:
        """Recent events of the whole fleet, newest last."""
        return self._items("GET", "/v1/events", query=filters)

    def overview(self) -> Json:
        """Counts by state, and the clusters' room."""
        return self._object("GET", "/v1/overview")

    def changes(self, revision: int | None = None) -> Iterator[Json]:
        """What changes in the hub, from `revision` on, as it is committed."""
        return self._http.stream("/v1/changes", query={"revision": revision})

    # -- plumbing -----------------------------------------------------------------------------

    def _submit_chunk(self, lines: list[bytes]) -> Iterator[Json]:
        answer = self._object(
            "POST",
            "/v1/jobs:batch",
            body=b"\n".join(lines),
            content_type="application/x-ndjson",
            headers={"Idempotency-Key": str(uuid.uuid4())},
        )
        yield from answer["items"]

    def _pages(self, path: str, filters: dict[str, str | int | None]) -> Iterator[Json]:
        wanted = filters.pop("limit", None)
        left = int(wanted) if wanted is not None else None
        token: str | None = None
        while left is None or left > 0:
            page = _PAGE if left is None else min(_PAGE, left)
            query = {**filters, "limit": page, "continue": token}
            answer = self._object("GET", path, query=query)
            yield from answer["items"]
            left = None if left is None else left - len(answer["items"])
            token = answer.get("continue")
            if not token:
                return

    def _by_uid(self, name: str) -> str:
        return f"/v1/jobs/{self.job(name)['uid']}" if "/" in name else f"/v1/jobs/{name}"

    def _items(self, method: str, path: str, **given: Any) -> list[Json]:
        items: list[Json] = self._http.request(method, path, **given)["items"]
        return items

    def _object(self, method: str, path: str, **given: Any) -> Json:
        answer: Json = self._http.request(method, path, **given)
        return answer


def _job_path(name: str) -> str:
    if "/" in name:
        namespace, _, short = name.partition("/")
        return f"/v1/namespaces/{namespace}/jobs/{short}"
    return f"/v1/jobs/{name}"


def _body(manifest: bytes | Json) -> tuple[bytes, str]:
    if isinstance(manifest, bytes):
        kind = "json" if manifest.lstrip()[:1] == b"{" else "yaml"
        return manifest, f"application/{kind}"
    return json.dumps(manifest).encode(), "application/json"
