"""People who act on the page: their session, the dialog they see, and its one call of the API."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from hub.services.access import credentials, people
from hub.services.access.credentials import SESSION
from hub.store.transaction import Transaction
from hub.web.access import MARK
from tests.web.pages import ServedPage

ORIGIN = "http://hub"
QUEUES = [
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "all"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [
                        {
                            "name": "f",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "4"},
                                {"name": "memory", "nominalQuota": "4Gi"},
                            ],
                        }
                    ],
                }
            ],
        },
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "lq", "namespace": "team-a"},
        "spec": {"clusterQueue": "all"},
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "urgent"},
        "value": 100,
    },
]


@dataclass
class Dialog:
    """What a dialog says, and the call that it holds."""

    page: str
    method: str
    path: str
    body: str
    key: str
    mark: str

    @property
    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(html.unescape(re.sub("<[^>]*>", " ", self.page)).split())

    @property
    def may_be_confirmed(self) -> bool:
        """Is there a button that does it?"""
        return self.page.count("<button") == 2

    def headers(self, **changed: str) -> dict[str, str]:
        """As the page's script sends them."""
        sent = {"Origin": ORIGIN, MARK: self.mark, "Accept": "application/json"}
        if self.body:
            sent["Content-Type"] = "application/json"
        if self.key:
            sent["Idempotency-Key"] = self.key
        return sent | {name.replace("_", "-"): value for name, value in changed.items()}

    async def press(self, http: httpx.AsyncClient, **changed: Any) -> httpx.Response:
        """Do what it offers; `changed`: fields of the body."""
        body = orjson.dumps(orjson.loads(self.body) | changed) if self.body else b""
        return await http.request(self.method, self.path, content=body, headers=self.headers())


async def look(http: httpx.AsyncClient, address: str) -> Dialog:
    """The dialog of an action."""
    reply = await http.get(f"/actions/{address}")
    assert reply.status_code == 200, reply.text
    found = {
        name: html.unescape(re.search(f'data-{name}="([^"]*)"', reply.text)[1])
        for name in ("method", "path", "body", "key", "mark")
    }
    return Dialog(reply.text, **found)


async def offers(http: httpx.AsyncClient, address: str) -> list[str]:
    """Verbs of the buttons that are shown."""
    reply = await http.get(f"/actions/{address}")
    assert reply.status_code == 200, reply.text
    return [each.rpartition("/")[2] for each in re.findall('data-act="([^"]*)"', reply.text)]


async def signed_in(hub: ServedPage, name: str, groups: Sequence[str] = ()) -> httpx.AsyncClient:
    """Somebody whose roles are what is bound to them."""

    def session(tx: Transaction) -> str:
        made = people.issue(tx, "user", name, "test", groups)
        holder = credentials.matching(tx, made["token"], credentials.BEARER)
        assert holder is not None
        return credentials.issue_for(tx, holder.principal, SESSION, None)

    http = hub.browser()
    http.cookies.set("roadstead", await hub.hub.write(session))
    return http


async def bind(hub: ServedPage, name: str, role: str, **given: Any) -> None:
    """Bind a role; users=, groups=, namespaces=, queues=."""
    reply = await hub.api.put(f"/v1/access/bindings/{name}", json={"role": role, **given})
    assert reply.status_code == 200, reply.text


async def with_queues(hub: ServedPage) -> None:
    """A flavor, ClusterQueue `all`, LocalQueue team-a/lq and priority class `urgent`."""
    assert (await hub.api.post("/v1/apply", json=QUEUES)).status_code == 200
