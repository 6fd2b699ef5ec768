"""Tells where an API server serves a kind, and what the lack of a kind or an object proves.

That a version of a kind is not served proves no absence: its objects are there in the other versions. A kind
has no objects only where the API server's discovery names it in no version of its group.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shared.kube import errors
from shared.kube.connection import Connection
from shared.kube.discovery import Discovery, Endpoint, group_of, root_of
from shared.kube.lists import Listing

if TYPE_CHECKING:
    from shared.kube.client import KubeClient

Object = dict[str, Any]


async def learn(connection: Connection, discovery: Discovery, api_version: str) -> bool:
    """Read the kinds of one group version; False if the server has no such version. Raises KubeError."""
    try:
        document = await connection.request("GET", root_of(api_version))
    except errors.NotFound:
        document = None
    discovery.learn(api_version, document)
    return document is not None


async def locate(
    connection: Connection, discovery: Discovery, api_version: str, kind: str
) -> Endpoint:
    """Ask where a kind is served. Raises `KindNotServed` where it is in no version, else KubeError."""
    is_version = await learn(connection, discovery, api_version)
    found = discovery.get((api_version, kind))
    if found is not None:
        return found
    group = await _versions_of(connection, group_of(api_version))
    others = [each for each in group if each != api_version]
    is_told = all([await learn(connection, discovery, each) for each in others])
    served = discovery.versions_of(api_version, kind)
    text = f"the server does not serve {kind} in {api_version}"
    if served:
        text = f"{text}, but in {', '.join(served)}"
        raise errors.VersionNotServed(404, "NotFound", text, {"served": served})
    if not is_told or (api_version in group and not is_version):
        text = f"{text}, and has not told all of its group"
        raise errors.VersionNotServed(404, "NotFound", text, {"served": []})
    raise errors.KindNotServed(404, "NotFound", text)


async def _versions_of(connection: Connection, group: str) -> list[str]:
    """The group versions of a group; none if there is no such group. The core group has one."""
    if not group:
        return []
    try:
        answer = await connection.request("GET", f"/apis/{group}")
    except errors.NotFound:
        return []
    return [str(each["groupVersion"]) for each in answer.get("versions") or ()]


async def absence(
    connection: Connection,
    discovery: Discovery,
    endpoint: Endpoint,
    missing: errors.NotFound,
) -> errors.KubeError:
    """Judge a 404 to a read: the object is absent only if the answer names it.

    Otherwise it says that it has no such path, as of a version that it no longer serves. Raises KubeError.
    """
    if missing.details.get("name"):
        return missing
    await locate(connection, discovery, endpoint.api_version, endpoint.kind)
    text = f"the server does not answer for {endpoint.kind} in {endpoint.api_version}"
    return errors.Unavailable(404, "NotFound", f"{text}: {missing.message}")


async def get(
    client: "KubeClient", api_version: str, kind: str, namespace: str, name: str
) -> Object:
    """As `KubeClient.get`; `NotFound` also where another version shows that the object is absent."""
    try:
        return await client.get(api_version, kind, namespace, name)
    except errors.VersionNotServed as other:
        for version in other.served[:1]:
            await client.get(version, kind, namespace, name)
        raise


async def list_all(
    client: "KubeClient",
    api_version: str,
    kind: str,
    namespace: str | None = None,
    label_selector: str | None = None,
    *,
    slim: Callable[[Object], Object] | None = None,
) -> Listing:
    """As `KubeClient.list`, in another version of the kind where this one is not served."""
    try:
        return await client.list(api_version, kind, namespace, label_selector, slim=slim)
    except errors.VersionNotServed as other:
        for version in other.served[:1]:
            return await client.list(version, kind, namespace, label_selector, slim=slim)
        raise
