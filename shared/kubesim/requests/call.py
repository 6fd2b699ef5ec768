"""One HTTP request as the API server sees it: who asks what of which resource, and the reply."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

import orjson
import yaml

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.registry import Registry, Resource
from shared.kubesim.requests import protobuf

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class User:
    """Who a bearer token belongs to."""

    name: str
    groups: tuple[str, ...] = ()


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(slots=True)
class Call:
    """A request. `resource` is None on paths that name none."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[bytes, bytes]
    body: bytes = b""
    user: User = ANONYMOUS
    resource: Resource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    warnings: list[str] = field(default_factory=list)

    def arg(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        return self.arg(name).lower() in ("true", "1", "t")

    def number(self, name: str) -> int | None:
        """An integer parameter; ApiError 400 if it is none."""
        text = self.arg(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise errors.bad_request(
                f'strconv.ParseInt: parsing "{text}": invalid syntax'
            ) from None

    @property
    def dry_run(self) -> bool:
        values = self.query.get("dryRun", [])
        if any(value not in ("All", "") for value in values):
            raise errors.bad_request(f"invalid dryRun: {values}: supported values: [All]")
        return "All" in values

    @property
    def accept(self) -> str:
        return self.headers.get(b"accept", b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        return self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()

    @property
    def writer(self) -> str:
        """The field manager: the parameter, else the first part of the user agent."""
        named = self.arg("fieldManager")
        if named:
            return named
        agent = self.headers.get(b"user-agent", b"").decode("latin-1")
        return agent.partition("/")[0][:128] or "unknown"

    def served(self) -> Resource:
        """The resource; 404 if the path names none."""
        if self.resource is None:
            raise errors.no_such_path()
        return self.resource

    def json(self) -> Any:
        """The body as JSON (or YAML, as the content type says). ApiError 400 if it does not parse."""
        return parse_body(self.body, self.content_type)


def parse_body(body: bytes, content_type: str) -> Any:
    """Decode JSON, YAML or the protobuf of built-in kinds. ApiError 400 or 415."""
    if content_type == protobuf.CONTENT_TYPE:
        return protobuf.decode(body)
    try:
        if "yaml" in content_type:
            return _yaml(body)
        return orjson.loads(body)
    except (orjson.JSONDecodeError, yaml.YAMLError) as fault:
        raise errors.bad_request(f"error decoding the body: {fault}") from fault


class _ManifestLoader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]  # the base class depends on how PyYAML was built
    """YAML as Kubernetes reads it: stamps stay text."""


def _refuse_stamp(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


_ManifestLoader.add_constructor("tag:yaml.org,2002:timestamp", _refuse_stamp)


def _yaml(body: bytes) -> Any:
    return yaml.load(body, Loader=_ManifestLoader)  # noqa: S506 - a safe loader


@dataclass(slots=True)
class Reply:
    """A complete answer."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(status, orjson.dumps(value))


def error_reply(error: errors.ApiError) -> Reply:
    headers = {}
    retry_after = (error.details or {}).get("retryAfterSeconds")
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return Reply(error.status, orjson.dumps(error.body()), headers=headers)


def read_scope(scope: Any, registry: Registry) -> Call:
    """Parse an ASGI scope. The path decides resource, namespace, name and subresource."""
    query_string = scope["query_string"]
    call = Call(
        method=scope["method"],
        path=scope["path"],
        query=parse_qs(query_string.decode("latin-1"), keep_blank_values=True)
        if query_string
        else {},
        headers=dict(scope["headers"]),
    )
    _route(call, scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1"), registry)
    return call


def _route(call: Call, raw_path: str, registry: Registry) -> None:
    parts = [unquote(part) for part in (raw_path or call.path).split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return
    if rest[0] == "watch" and len(rest) > 1:  # the deprecated spelling of ?watch=true
        call.query["watch"] = ["true"]
        rest = rest[1:]
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        call.namespace = rest[1]
        rest = rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 3:
        call.namespace, rest = rest[1], rest[2:]
    call.resource = registry.by_path(group, version, rest[0])
    call.rest = rest[0]
    call.name = rest[1] if len(rest) > 1 else ""
    call.subresource = "/".join(rest[2:])
    if call.resource is not None and call.namespace and not call.resource.namespaced:
        call.resource = None
