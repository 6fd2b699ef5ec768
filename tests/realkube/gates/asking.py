"""Asks an API server as somebody else, one HTTP request at a time, and says who refused: a gate or a role.

An administrator impersonates: an admission policy and RBAC see the name and the groups of the impersonated.
"""

import base64
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import httpx
import yaml

Json = dict[str, Any]
Verdict = Literal["yes", "gate", "role"]

YES: Final = "yes"  # allowed
GATE: Final = "gate"  # denied by an admission policy
ROLE: Final = "role"  # denied by RBAC
EVERY_RIGHT: Final = (
    "gates:every-right"  # a group that may do everything: only a gate is in its way
)
_DENIED: Final = "ValidatingAdmissionPolicy '"
_SECONDS: Final = 20


@dataclass(frozen=True)
class Identity:
    """Who asks; the administrator has no `user` and is not impersonated."""

    name: str
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """What impersonates this identity."""
        if not self.user:
            return []
        groups = (*self.groups, "system:authenticated")
        return [("Impersonate-User", self.user), *(("Impersonate-Group", g) for g in groups)]


def account(name: str, namespace: str, account: str, *groups: str) -> Identity:
    """A service account, with further groups."""
    own = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return Identity(name, f"system:serviceaccount:{namespace}:{account}", (*own, *groups))


@dataclass(frozen=True)
class Answer:
    """What the API server answered."""

    status: int
    body: Json

    @property
    def message(self) -> str:
        """Its words; "" of an object."""
        return str(self.body.get("message") or "") if self.status >= 400 else ""

    @property
    def verdict(self) -> Verdict:
        """Who decided. AssertionError if neither a gate nor a role did: the request was wrong."""
        if self.status < 300:
            return "yes"
        if _DENIED in self.message:
            return "gate"
        assert self.status == 403, f"{self.status} {self.message}"
        return "role"


class Asker:
    """One API server, by its administrator's kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pem:
            for part in ("client-certificate-data", "client-key-data"):
                pem.write(base64.b64decode(user[part]) + b"\n")
            pem.flush()
            context.load_cert_chain(pem.name)
        self._http = httpx.Client(base_url=cluster["server"], verify=context, timeout=_SECONDS)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def ask(
        self,
        who: Identity,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        dry: bool = True,
        **query: str,
    ) -> Answer:
        """One request; `dry`: the server decides and stores nothing."""
        if dry:
            query["dryRun"] = "All"
        headers = [*who.headers, ("Content-Type", media)]
        given = {} if body is None else {"json": body}
        got = self._http.request(method, path, params=query, headers=headers, **given)
        return Answer(got.status_code, got.json())
