"""An agent's certificate, a second factor beside its credential: it never says who the agent is.

Only the credential tells the cluster of an agent. A certificate with a name identifies that
cluster and no other; `Tls.client_certificates` decides whether agents must show one.
"""

from typing import Final

from starlette.requests import Request

from hub.api.handshakes import ClientCertificate
from hub.services.context.hub import Hub
from hub.services.members.faults import is_noted, note_fault
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_NEEDED: Final = "this hub wants a certificate of its agents: --client-cert and --client-key"


async def check_client_certificate(request: Request, hub: Hub, cluster: str) -> None:
    """See that the connection's certificate may go with `cluster`'s credential.

    Raises Rejected: ClientCertificateRequired, IdentityMismatch (which is written down).
    """
    if not hub.settings.tls.client_ca:
        return
    shown: ClientCertificate | None = getattr(request.state, "client_certificate", None)
    if shown is None:
        if hub.settings.tls.client_certificates == "Required":
            raise Rejected(RejectCode.CLIENT_CERTIFICATE_REQUIRED, _NEEDED)
        return
    if shown.ends_at <= hub.clock.now().timestamp():  # since the connection was made
        text = "the agent's certificate has expired; give it a new one"
        raise Rejected(RejectCode.CLIENT_CERTIFICATE_REQUIRED, text)
    if not shown.names <= {cluster}:
        text = f"the certificate names another cluster than {cluster}"
        await note(hub, cluster, RejectCode.IDENTITY_MISMATCH, text)
        raise Rejected(RejectCode.IDENTITY_MISMATCH, text)


async def note(hub: Hub, cluster: str, code: str, detail: str) -> None:
    """Write down what `cluster`'s agent is refused for."""
    if not await hub.read(is_noted, cluster, code):  # a repetition waits for no writer
        await hub.write(note_fault, cluster, code, detail)
