"""The log of a container, in the pieces in which it comes."""

from collections.abc import AsyncIterator

import aiohttp

from shared.kube import errors
from shared.kube.connection import Connection

# Read ahead of who takes it; beyond twice that the kubelet waits.
_BUFFER = 32 << 10


async def read_log(
    connection: Connection, namespace: str, pod: str, asked: dict[str, str]
) -> AsyncIterator[bytes]:
    """The log, with these parameters of the API (`container`, `follow`, …), until the server ends it.

    Raises the members of `shared.kube.errors`; `Unavailable` when the stream breaks.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
    response = await connection.stream(path, asked, None, _BUFFER)
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (TimeoutError, aiohttp.ClientError, OSError) as failure:
        text = str(failure) or type(failure).__name__
        raise errors.Unavailable(0, "NoConnection", f"the log broke: {text}") from failure
    finally:
        response.close()
