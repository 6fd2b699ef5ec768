"""Lists of one kind, page by page of one consistent snapshot."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from shared.kube import errors
from shared.kube.connection import Connection
from shared.kube.discovery import Endpoint

Object = dict[str, Any]
MOST_LISTED: Final = 500  # objects of one page
_FIRST_OF_LARGE: Final = 4  # … of the first, where objects may be large
_PAGE_BYTES: Final = 2 << 20  # … of the others
_LIST_TIMEOUT_S: Final = 60.0


class Listing(NamedTuple):
    """A complete list and the resourceVersion to watch from."""

    items: list[Object]
    resource_version: str


async def read_pages(
    connection: Connection,
    endpoint: Endpoint,
    path: str,
    params: Mapping[str, str],
    page: int,
    slim: Callable[[Object], Object] | None,
    accept: str,
) -> Listing:
    """All items, `page` at a time, 0: without pages; fewer where `slim` is given and items are large."""
    items: list[Object] = []
    first = min(page, _FIRST_OF_LARGE) if slim else page
    asked = {**params, "limit": str(first)} if page else dict(params)
    size = 0

    def sized(count: int) -> None:
        nonlocal size
        size = count

    while True:
        answer = await connection.request(
            "GET", path, params=asked, timeout_s=_LIST_TIMEOUT_S, accept=accept, sized=sized
        )
        listed = answer.get("items") or ()
        for item in listed:
            # A server leaves the type out of the items of a list.
            item["apiVersion"], item["kind"] = endpoint.api_version, endpoint.kind
            items.append(slim(item) if slim else item)
        metadata = answer.get("metadata") or {}
        token = metadata.get("continue")
        if not token:
            return Listing(items, str(metadata.get("resourceVersion") or ""))
        if token == asked.get("continue"):  # of a server that would go on for ever
            text = f"the list of {endpoint.kind} does not end: the same page is to follow again"
            raise errors.Unavailable(0, "EndlessList", text)
        asked = asked | {"continue": token}
        if slim and page and listed:
            fits = _PAGE_BYTES * len(listed) // max(size, 1)
            asked["limit"] = str(max(1, min(page, fits)))
