"""Requests about Kubernetes objects as plain dicts: get, list, create, patch, apply, delete, watch.

Manifests go in and come out as the server wrote them. Lists are complete (all pages) and quorum
reads; writes name their field manager; a watch ends with `Gone` when its start is too old, and
relisting is the caller's (see `shared.kube.informer`).
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from shared.clock import Clock
from shared.kube import errors, served
from shared.kube.answers import object_of, selectors
from shared.kube.connection import (
    APPLY_PATCH,
    JSON,
    MERGE_PATCH,
    METADATA_LIST,
    POOL_SIZE,
    TIMEOUT_S,
    Connection,
    Heard,
)
from shared.kube.discovery import Discovery, Endpoint
from shared.kube.lists import MOST_LISTED, Listing, read_pages
from shared.kube.pod_log import read_log
from shared.kube.watch import STALL_S, Batch, WatchEvent, batches

Propagation = Literal["Background", "Foreground", "Orphan"]
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
    """The content of `/version`."""

    git_version: str
    platform: str = ""


class KubeClient:
    """One cluster's API. Use as an async context manager, or call `close`.

    Every method raises the members of `shared.kube.errors`; a kind that the server serves in no version is
    `KindNotServed`, which is a `NotFound`; `VersionNotServed` is none (see `shared.kube.served`).
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._discovery = Discovery()

    @classmethod
    async def connect(
        cls,
        kubeconfig: Path | str | None = None,
        *,
        context: str | None = None,
        qps: float | None = None,
        clock: Clock | None = None,
        connections: int = POOL_SIZE,
    ) -> Self:
        """A client for the cluster of a kubeconfig; None: the cluster this pod runs in.

        `qps` bounds the requests started per second (None: no bound). Raises as `Connection.open`.
        """
        return cls(
            await Connection.open(
                kubeconfig, context=context, qps=qps, clock=clock, connections=connections
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; watches end."""
        await self._connection.close()

    # --- discovery -------------------------------------------------------------------------------

    async def server_resources(self, refresh: bool = False) -> Discovery:
        """Everything the server serves; read once, and again with `refresh`.

        A group whose API server does not answer keeps what was known of it.
        """
        if self._discovery.complete and not refresh:
            return self._discovery
        groups = (await self._connection.request("GET", "/apis")).get("groups") or []
        versions = ["v1", *(v["groupVersion"] for g in groups for v in g.get("versions") or ())]
        self._discovery.forget_others(set(versions))
        unanswered = set()
        for api_version in versions:
            try:
                await served.learn(self._connection, self._discovery, api_version)
            except errors.Unavailable:
                unanswered.add(api_version)
        self._discovery.unanswered = unanswered
        self._discovery.complete = True
        return self._discovery

    async def endpoint(self, api_version: str, kind: str) -> Endpoint:
        """The path of a kind; asks the server when it is not known yet.

        Raises `KindNotServed`; `VersionNotServed` if the kind may be served in another version.
        """
        found = self._discovery.get((api_version, kind))
        if found is not None:
            return found
        return await served.locate(self._connection, self._discovery, api_version, kind)

    async def version(self) -> Version:
        """The server's version."""
        answer = await self._connection.request("GET", "/version")
        return Version(str(answer.get("gitVersion") or ""), str(answer.get("platform") or ""))

    async def probe(self, timeout_s: float) -> None:
        """Does the server answer a read of the store behind it? Asked once, out of turn.

        Raises `Unavailable` when no answer comes in time, or one of 5xx; `Unauthorized` or `Forbidden` when
        the server refuses the credential. Other refusals are answers.
        """
        await self._connection.probe("/api/v1/namespaces/kube-system", timeout_s)

    def on_answer(self, heard: Heard) -> None:
        """Call `heard` with path, HTTP status and seconds of each answer to a request that is no probe.

        A stream that opens is not reported, for a watch may be served from memory.
        """
        self._connection.heard = heard

    # --- reads -----------------------------------------------------------------------------------

    async def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object:
        """One object; `namespace` is "" for cluster-scoped kinds.

        Raises `NotFound` if the server answers that it has no such object, and as `endpoint`.
        """
        endpoint = await self.endpoint(api_version, kind)
        try:
            answer = await self._connection.request("GET", endpoint.path(namespace, name))
        except errors.NotFound as missing:
            given = self._connection, self._discovery, endpoint
            raise await served.absence(*given, missing) from missing
        return object_of(answer)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        *,
        page: int = MOST_LISTED,
        slim: Callable[[Object], Object] | None = None,
        metadata_only: bool = False,
    ) -> Listing:
        """All objects of a kind (None: in all namespaces), read in pages of one consistent snapshot.

        With `slim` no more is kept of each than it returns, and pages are small while objects are large: a
        page is decoded in one step, during which nothing else runs.

        A continue token that expires half-way starts the list again, without pages. Raises `Unavailable`
        when a page names itself as the next.
        """
        endpoint = await self.endpoint(api_version, kind)
        path = endpoint.path(namespace)
        params = selectors(label_selector, field_selector)
        accept = METADATA_LIST if metadata_only else JSON
        given = self._connection, endpoint, path, params
        try:
            return await read_pages(*given, page, slim, accept)
        except errors.Gone:
            return await read_pages(*given, 0, slim, accept)
        except errors.NotFound as missing:
            raise await served.absence(
                self._connection, self._discovery, endpoint, missing
            ) from missing

    # --- writes ----------------------------------------------------------------------------------

    async def create(
        self,
        obj: Object,
        *,
        field_manager: str,
        timeout_s: float = TIMEOUT_S,
        dry_run: bool = False,
    ) -> Object:
        """POST an object. Raises `AlreadyExists`; `NotFound.of_namespace` without its namespace."""
        endpoint, namespace, _ = await self._address(obj)
        params = {"fieldManager": field_manager} | ({"dryRun": "All"} if dry_run else {})
        return object_of(
            await self._connection.request(
                "POST",
                endpoint.path(namespace),
                params=params,
                body=obj,
                timeout_s=timeout_s,
            )
        )

    async def replace(
        self, obj: Object, *, field_manager: str, subresource: str | None = None
    ) -> Object:
        """PUT an object; with metadata.resourceVersion a stale one is a `Conflict`."""
        endpoint, namespace, name = await self._address(obj)
        return object_of(
            await self._connection.request(
                "PUT",
                endpoint.path(namespace, name, subresource or ""),
                params={"fieldManager": field_manager},
                body=obj,
            )
        )

    async def merge_patch(
        self,
        api_version: str,
        kind: str,
        namespace: str,
        name: str,
        patch: Object,
        *,
        field_manager: str,
        subresource: str | None = None,
        timeout_s: float = TIMEOUT_S,
        dry_run: bool = False,
    ) -> Object:
        """RFC 7396 patch. `metadata.uid` or `metadata.resourceVersion` in it are preconditions."""
        return await self._patch(
            await self.endpoint(api_version, kind),
            (namespace, name, subresource or ""),
            MERGE_PATCH,
            patch,
            {"fieldManager": field_manager} | ({"dryRun": "All"} if dry_run else {}),
            timeout_s,
        )

    async def apply(
        self,
        obj: Object,
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply. Unforced, fields of others raise `Conflict` with `owned` filled.

        `metadata.uid` in the object makes it a precondition: a `Conflict` if it is not the live one.
        """
        endpoint, namespace, name = await self._address(obj)
        params = {"fieldManager": field_manager, "force": "true" if force else "false"}
        if dry_run:
            params["dryRun"] = "All"
        where = (namespace, name, subresource or "")
        return await self._patch(endpoint, where, APPLY_PATCH, obj, params)

    async def delete(
        self,
        api_version: str,
        kind: str,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation = "Background",
        grace_s: int | None = None,
    ) -> Object | None:
        """Ask for deletion; the object as it now is, None if it is gone.

        Raises `NotFound`, and `Conflict` if the object has another uid or resourceVersion.
        """
        endpoint = await self.endpoint(api_version, kind)
        options: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        wanted = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {name: value for name, value in wanted.items() if value}
        if preconditions:
            options["preconditions"] = preconditions
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        answer = await self._connection.request(
            "DELETE", endpoint.path(namespace, name), body=options, content_type=JSON
        )
        if not isinstance(answer, dict) or answer.get("kind") == "Status":
            return None
        return object_of(answer)

    # --- watch -----------------------------------------------------------------------------------

    async def watch(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
    ) -> AsyncIterator[WatchEvent]:
        """Changes after `resource_version`, bookmarks included, until the server ends the stream.

        Raises `Gone` when that version is too old, and `Unavailable` when the stream breaks or has
        been silent for 90 s.
        """
        async for batch in self.watch_batches(
            api_version,
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
        ):
            for event in batch:
                yield event

    async def watch_batches(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
        stall_s: float = STALL_S,
    ) -> AsyncIterator[Batch]:
        """As `watch`, in the bursts in which events arrive."""
        endpoint = await self.endpoint(api_version, kind)
        params = selectors(label_selector, field_selector) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
        }
        response = await self._connection.stream(endpoint.path(namespace), params, stall_s)
        async for batch in batches(response):
            yield batch

    def log(self, namespace: str, pod: str, asked: dict[str, str]) -> AsyncIterator[bytes]:
        """A container's log, as `shared.kube.pod_log` reads it."""
        return read_log(self._connection, namespace, pod, asked)

    # --- internals -------------------------------------------------------------------------------

    async def _address(self, obj: Object) -> tuple[Endpoint, str, str]:
        metadata = obj["metadata"]
        endpoint = await self.endpoint(obj["apiVersion"], obj["kind"])
        namespace = metadata.get("namespace") or "default" if endpoint.namespaced else ""
        return endpoint, namespace, metadata.get("name") or ""

    async def _patch(
        self,
        endpoint: Endpoint,
        where: tuple[str, str, str],
        content_type: str,
        body: Any,
        params: dict[str, str],
        timeout_s: float = TIMEOUT_S,
    ) -> Object:
        return object_of(
            await self._connection.request(
                "PATCH",
                endpoint.path(*where),
                params=params,
                body=body,
                content_type=content_type,
                timeout_s=timeout_s,
            )
        )
