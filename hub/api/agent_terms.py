"""On which terms a request of an agent is answered: read from its headers, the same for all that it says."""

from starlette.requests import Request

from hub.api.measures import CREDENTIALS
from hub.api.policy import hub_of
from hub.services.access.credentials import Principal
from hub.services.members.terms import AgentTerms
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire import versions
from shared.wire.agent_v1 import Rotate


def terms_of(request: Request, spoken: int, who: Principal | None = None) -> AgentTerms:
    """The terms of a request whose message is of protocol `spoken`. Raises Rejected: UpgradeRequired."""
    hub, headers = hub_of(request), request.headers
    offered = headers.get(versions.PROTOCOL_HEADER, "")
    try:
        protocol = versions.choose(offered, spoken, hub.settings.api.oldest_agent_protocol)
    except versions.NotSpoken as refusal:
        raise Rejected(RejectCode.UPGRADE_REQUIRED, str(refusal), "proto") from refusal

    async def successor() -> Json | None:
        given = None if who is None else await hub.rotation.successor(who)
        if given is None:
            return None
        CREDENTIALS.labels("replaced").inc()
        return Rotate(credential=given, ca=hub.authority().pem).model_dump()

    return AgentTerms(
        protocol=protocol,
        version=versions.version_of(headers.get("user-agent", "")),
        plain_http=headers.get(versions.LINK_HEADER) == versions.PLAIN_HTTP,
        client_certificate=getattr(request.state, "client_certificate", None) is not None,
        successor=successor,
    )


def answered_in(terms: AgentTerms) -> dict[str, str]:
    """The header by which the agent learns what was chosen."""
    return {versions.PROTOCOL_HEADER: str(terms.protocol)}
