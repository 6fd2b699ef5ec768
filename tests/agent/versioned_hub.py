"""A scripted hub that chose a protocol."""

import httpx

from shared.wire.versions import PROTOCOL_HEADER
from tests.agent.scripted_hub import ScriptedHub


class HubOfProtocol(ScriptedHub):
    """A hub that says in its answers which protocol it chose."""

    def __init__(self, protocol: int) -> None:
        super().__init__()
        self.protocol = protocol

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        answer.headers[PROTOCOL_HEADER] = str(self.protocol)
        return answer
