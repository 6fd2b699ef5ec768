"""The SDK: one class, one method per thing a person does. The command line is built on it.

    from roadstead import Client

    with Client() as hub:                       # address and token as `roadstead` finds them
        job = hub.submit(open("job.yaml", "rb").read())
        job = hub.wait(job["uid"], timeout_s=600)
        print(job["state"], job["cluster"])

Objects are the hub's JSON, as plain dictionaries. `jobs` and `drift` fetch page after page as they
are iterated. Every method raises what `roadstead.errors` draws: `Rejected` (with `code`, `detail` and
`errors`) and `NotFound` where the hub refuses, `NotAllowed`, `Unreachable`. What may be repeated
without harm is repeated once when a kept connection has died, and when the hub asks for a pause.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Self

from roadstead.context import resolve
from roadstead.errors import TimedOut, Unreachable
from roadstead.media_types import type_of
from roadstead.paths import either, job_path, part, workload_path
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
        """One job by uid or by `namespace/name` (the newest that had the name)."""
        return self._object("GET", job_path(name))

    def explain(self, name: str) -> Json:
        """Where a job is and why: position, blocking rule in numbers, verdict per cluster."""
        return self._object("GET", f"{self._by_uid(name)}/explain")

    def job_events(self, name: str, *, limit: int = 500) -> list[Json]:
        """What happened to a job lately, oldest first; at most `limit` (1 to 500) events."""
        return self._items("GET", f"{self._by_uid(name)}/events", query={"limit": limit})

    def cancel(self, name: str) -> Json:
        """Stop a job wherever it is; it ends Cancelled once it is certain that nothing runs."""
        return self._object("POST", f"{self._by_uid(name)}/cancel", repeatable=True)

    def hold(self, name: str) -> Json:
        """Hold a job back until it is released; one that runs is taken back from its cluster."""
        return self._object("POST", f"{self._by_uid(name)}/hold", repeatable=True)

    def release(self, name: str) -> Json:
        """Let a job wait again that is held or was deactivated."""
        return self._object("POST", f"{self._by_uid(name)}/release", repeatable=True)

    def delete_job(self, name: str) -> Json:
        """Stop a job wherever it is and free its name; its history is kept for a while."""
        return self._object("DELETE", self._by_uid(name), repeatable=True)

    def wait(self, name: str, *, timeout_s: float | None = None, every_s: float = 0.5) -> Json:
        """Return the job once it has ended. Raises TimedOut after `timeout_s`; the job goes on."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        path = self._by_uid(name)
        while True:
            job = self._object("GET", path)
            if job["state"] in TERMINAL_STATES:
                return job
            left = every_s if deadline is None else deadline - time.monotonic()
            if left <= 0:
                job_name = f"{job['namespace']}/{job['name']}"
                raise TimedOut(f"{job_name} is {job['state']} after {timeout_s:g} s")
            time.sleep(min(every_s, left))

    def checks(self, **filters: str | int | None) -> Iterator[Json]:
        """Who waits for an admission check's answer: check, controller, limit."""
        yield from self._pages("/v1/checks", filters)

    def set_check(self, name: str, check: str, state: str, **more: Any) -> Json:
        """Answer a job's admission check: Pending, Ready, Retry or Rejected.

        `more`: message, requeueAfterSeconds, retryCount, podSetUpdates. Returns the job's checks.
        """
        given = {"state": state, **{key: each for key, each in more.items() if each is not None}}
        body, _ = _body(given)
        return self._object("PUT", f"{self._by_uid(name)}/checks/{part(check)}", body=body)

    def serve_check(self, check: str, *, on: bool = True, message: str = "") -> Json:
        """Say, as its controller, that an AdmissionCheck is served (or no longer): condition Active."""
        status, reason = ("True", "Active") if on else ("False", "Inactive")
        condition = {"type": "Active", "status": status, "reason": reason, "message": message}
        body, _ = _body({"conditions": [condition]})
        path = f"/v1/objects/kueue.x-k8s.io/AdmissionCheck/{part(check)}/status"
        return self._object("PUT", path, body=body)

    # -- objects ------------------------------------------------------------------------------

    def apply(
        self, manifests: bytes, *, content_type: str | None = None, namespace: str | None = None
    ) -> Json:
        """Apply documents of any kind, as `kubectl apply` would: JSON, or YAML with several documents.

        Returns {"items": [{kind, namespace, name, uid, result, …}]}, a result per document: created,
        configured, unchanged or rejected (then with code and detail). Raises Rejected if every
        document was; `problem["items"]` then tells of each. `namespace` is for those without one.
        """
        return self._object(
            "POST",
            "/v1/apply",
            query={"namespace": namespace},
            body=manifests,
            content_type=content_type or type_of(manifests),
            repeatable=True,
        )

    def objects(self, kind: str, *, group: str = "core", namespace: str = "") -> Iterator[Json]:
        """Every object of a kind, of one namespace or of all; not Jobs, which are `jobs`."""
        path = f"/v1/objects/{part(group)}/{part(kind)}"
        yield from self._pages(path, {"namespace": namespace or None})

    def find(self, kind: str, name: str, *, group: str = "core", namespace: str = "") -> Json:
        """One object: its manifest with uid, generation and status. Raises NotFound."""
        within = f"namespaces/{part(namespace)}/" if namespace else ""
        return self._object("GET", f"/v1/objects/{part(group)}/{part(kind)}/{within}{part(name)}")

    def queues(self) -> list[Json]:
        """Every ClusterQueue with quota, usage and its LocalQueues."""
        return self._items("GET", "/v1/queues")

    def queue(self, name: str) -> Json:
        """One ClusterQueue, or a LocalQueue as `namespace/name`."""
        return self._object("GET", f"/v1/queues/{either(name)}")

    def pending(self, name: str, *, offset: int = 0, limit: int = 1000) -> list[Json]:
        """Who waits in a ClusterQueue, or in a LocalQueue as `namespace/name`, in order.

        Items as Kueue's visibility API has them, with positions from 0.
        """
        namespace, slash, short = name.rpartition("/")
        queue = f"clusterqueues/{part(name)}"
        if slash:
            queue = f"namespaces/{part(namespace)}/localqueues/{part(short)}"
        path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/{queue}/pendingworkloads"
        return self._items("GET", path, query={"offset": offset, "limit": limit})

    def workloads(self, **filters: str | int | None) -> Iterator[Json]:
        """All Workloads that match, as Kueue shows them: namespace, queue, clusterQueue, state,
        condition (a type, or type=status), limit.
        """
        yield from self._pages("/v1/workloads", filters)

    def workload(self, name: str) -> Json:
        """One Workload by `namespace/name`."""
        return self._object("GET", workload_path(name))

    def watch_workloads(
        self, revision: int | None = None, **filters: str | None
    ) -> Iterator[Json]:
        """How workloads stand, each as it changes, from `revision` on: for executors of bare ones.

        Filters: namespace, queue, kind, state, each of one value or several with commas.
        """
        for told in self._http.stream(
            "/v1/workloads:watch", query={"revision": revision, **filters}
        ):
            yield from told["items"]

    def report_workload(self, name: str, status: Json, *, epoch: int | None = None) -> Json:
        """Say how far a bare Workload (`namespace/name`) is: conditions, reclaimablePods …

        With `epoch` what is said of a run that was taken back meanwhile raises Rejected.
        """
        path = f"{workload_path(name)}/status"
        body, _ = _body({"status": status})
        return self._object("PATCH", path, body=body, query={"epoch": epoch})

    def clusters(self) -> list[Json]:
        """Every member cluster with its capacity and heartbeat."""
        return self._items("GET", "/v1/clusters")

    def cluster(self, name: str) -> Json:
        """One member cluster."""
        return self._object("GET", f"/v1/clusters/{part(name)}")

    def add_cluster(
        self,
        name: str,
        labels: dict[str, str] | None = None,
        taints: list[Json] | None = None,
        pools: list[Json] | None = None,
    ) -> Json:
        """Declare a member; the answer holds its one-time join token.

        `pools` are those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster.
        """
        given = {"name": name, "labels": labels or {}, "taints": taints or []}
        body, _ = _body(given | ({"pools": pools} if pools else {}))
        return self._object("POST", "/v1/clusters", body=body)

    def join_token(self, name: str) -> Json:
        """A fresh one-time join token for a declared member; earlier unused ones end."""
        return self._object("POST", f"/v1/clusters/{part(name)}/join-token")

    def cordon(self, name: str, *, on: bool = True) -> Json:
        """Stop (or allow again) new work on a member; what runs there goes on."""
        verb = "cordon" if on else "uncordon"
        return self._object("POST", f"/v1/clusters/{part(name)}/{verb}", repeatable=True)

    def fence(self, name: str, confirm: str, *, though_it_answers: bool = False) -> Json:
        """Write a destroyed member off: its jobs start elsewhere. `confirm`: its name again.

        One that still answers is refused, unless you say that you know: its jobs run twice.
        """
        path = f"/v1/clusters/{part(name)}/fence"
        told = {"confirm": confirm} | ({"thoughItAnswers": True} if though_it_answers else {})
        body, _ = _body(told)
        return self._object("POST", path, body=body)

    def restored(self) -> Json:
        """Why nothing is dispatched since the hub's store went back, and what is left from before."""
        return self._object("GET", "/v1/restored")

    def accept_restored(self) -> Json:
        """Go on from a restored store that the hub has found to be older than what it once said."""
        return self._object("POST", "/v1/restored:accept")

    def tokens(self) -> list[Json]:
        """Who holds a token: role and name."""
        return self._items("GET", "/v1/tokens")

    def issue_token(self, name: str, role: str = "viewer") -> Json:
        """A token for a person, shown this once; an earlier one of that role and name ends."""
        body, _ = _body({"role": role, "name": name})
        return self._object("POST", "/v1/tokens", body=body)

    def revoke_token(self, name: str, role: str = "viewer") -> Json:
        """End a person's token."""
        return self._object("DELETE", f"/v1/tokens/{part(role)}/{part(name)}", repeatable=True)

    def hub_cluster(self) -> Json:
        """Whether the bridge to the hub cluster runs, and why it has stopped."""
        return self._object("GET", "/v1/hub-cluster")

    def resume_hub_cluster(self, reason: str) -> Json:
        """Let the bridge go on after it stopped for `reason`; what that means stands in `resuming`."""
        body, _ = _body({"reason": reason})
        return self._object("POST", "/v1/hub-cluster/resume", body=body)

    def placements(self) -> list[Json]:
        """Every placement with what it selected and where it put it."""
        return self._items("GET", "/v1/placements")

    def placement(self, name: str) -> Json:
        """One ClusterResourcePlacement, or a ResourcePlacement as `namespace/name`."""
        return self._object("GET", f"/v1/placements/{either(name)}")

    def drift(self) -> Iterator[Json]:
        """Every field that no longer is as the hub wants it, with path and both values."""
        yield from self._pages("/v1/drift", {})

    def events(self, **filters: str | int | None) -> list[Json]:
        """Recent events of the whole fleet, newest last: namespace, kind, name, uid, limit."""
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
        yield from _items_of(answer, self.server)

    def _pages(self, path: str, filters: dict[str, str | int | None]) -> Iterator[Json]:
        wanted = filters.pop("limit", None)
        left = int(wanted) if wanted is not None else None
        token: str | None = None
        while left is None or left > 0:
            page = _PAGE if left is None else min(_PAGE, left)
            query = {**filters, "limit": page, "continue": token}
            answer = self._object("GET", path, query=query)
            items = _items_of(answer, self.server)
            yield from items
            left = None if left is None else left - len(items)
            token = answer.get("continue")
            if not token:
                return

    def _by_uid(self, name: str) -> str:
        return job_path(self.job(name)["uid"] if "/" in name else name)

    def _items(self, method: str, path: str, **given: Any) -> list[Json]:
        return _items_of(self._object(method, path, **given), self.server)

    def _object(self, method: str, path: str, **given: Any) -> Json:
        return self._http.request(method, path, **given)


def _items_of(answer: Json, server: str) -> list[Json]:
    items = answer.get("items")
    if not isinstance(items, list):
        raise Unreachable(f"what answers at {server} is no hub: its list has no items")
    return items


def _body(manifest: bytes | Json) -> tuple[bytes, str]:
    if isinstance(manifest, bytes):
        return manifest, type_of(manifest)
    return json.dumps(manifest).encode(), "application/json"
