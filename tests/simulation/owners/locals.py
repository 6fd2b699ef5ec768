"""The members' people, a GitOps controller and a copier there: what they do past the hub."""

import base64
from typing import Any

from shared.kube import errors
from tests.simulation.owners.acts import CLASS
from tests.simulation.owners.ledger import ACCEPT
from tests.simulation.owners.users import a_class, declared

Object = dict[str, Any]
FINALIZER = "example.com/held"


class Locals:
    """The people of the members and a GitOps controller and a copier there."""

    def __init__(self, fleet: Any) -> None:
        self.fleet = fleet
        self.canaries = 0
        self.reapplied: dict[tuple[str, str, str], Object] = {}
        self.held: set[tuple[str, str, str, str, str]] = set()

    def _canary(self) -> str:
        """A value that no other object has."""
        self.canaries += 1
        return f"canary-{self.canaries}x"

    def _foreign(self, space: str, named: tuple[str, str, str], same: bool) -> Object:
        api_version, kind, name = named
        body = declared(space, api_version, kind, name, 0)
        if not same:
            body["data"] = {"color": self._canary()}
        body["data"]["own"] = self._canary()
        if kind == "Secret":
            body["stringData"] = body.pop("data")
        body["metadata"]["labels"] = {"owner": self._canary()}
        return body

    async def make_namespace(self, member: str, space: str, accept: bool) -> str:
        marks = {ACCEPT: self.fleet.hub.hub_id} if accept else {}
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": space, "labels": marks},
        }
        return await self._say(
            self.fleet.members[member].kube["people"].create(body, field_manager="kubectl")
        )

    async def make(
        self, member: str, space: str, a: str, k: str, n: str, same: bool, who: str
    ) -> str:
        body = self._foreign(space, (a, k, n), same)
        return await self._say(
            self.fleet.members[member].kube[who].create(body, field_manager=who)
        )

    async def accept(
        self, member: str, space: str, _a: str, _k: str, _n: str, accept: bool
    ) -> str:
        mark = self.fleet.hub.hub_id if accept else None
        patch = {"metadata": {"labels": {ACCEPT: mark}}}
        return await self._patch(member, "v1", "Namespace", "", space, patch)

    async def edit(self, member: str, space: str, a: str, k: str, n: str, field: str) -> str:
        """Of whomever the object is: fields of ours that people edit are no secrets of theirs."""
        store = self.fleet.members[member].cluster.store
        held = store.get(f"{k.lower()}s", space, n)
        ours = held is not None and self._is_of_agent(member, held)
        value = f"edited-{self.canaries}" if ours else self._canary()
        where = "stringData" if k == "Secret" else "data"
        return await self._patch(member, a, k, space, n, {where: {field: value}})

    def _is_of_agent(self, member: str, held: Object) -> bool:
        entry = self.fleet.members[member].ledger.entries.get(held["metadata"]["uid"])
        return entry is not None and entry.creator == "agent"

    async def remove(self, member: str, space: str, a: str, k: str, n: str) -> str:
        return await self._say(self.fleet.members[member].kube["people"].delete(a, k, space, n))

    async def remove_namespace(
        self, member: str, space: str, _a: str, _k: str, _n: str, again: bool, after: float
    ) -> str:
        said = await self._say(
            self.fleet.members[member].kube["people"].delete("v1", "Namespace", "", space)
        )
        if again:
            self.fleet.later(after, "make-namespace", (member, space, False))
        return said

    async def hold(self, member: str, space: str, a: str, k: str, n: str) -> str:
        """A finalizer of theirs, until the end of the run at the latest."""
        self.held.add((member, a, k, space, n))
        return await self._patch(member, a, k, space, n, {"metadata": {"finalizers": [FINALIZER]}})

    async def let_go(self) -> None:
        for member, a, k, space, n in sorted(self.held):
            await self._patch(member, a, k, space, n, {"metadata": {"finalizers": []}})

    async def own(self, member: str, space: str, a: str, k: str, n: str) -> str:
        """Their ConfigMap becomes an owner of the object."""
        owner = self.fleet.members[member].cluster.store.get("configmaps", space, "theirs")
        if owner is None or n == "theirs":
            return "no owner"
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "theirs",
            "uid": owner["metadata"]["uid"],
        }
        return await self._patch(
            member, a, k, space, n, {"metadata": {"ownerReferences": [reference]}}
        )

    async def strip(self, member: str, space: str, a: str, k: str, n: str, mark: str) -> str:
        patch = {"metadata": {"labels": {f"roadstead.dev/{mark}": None}}}
        return await self._patch(member, a, k, space, n, patch)

    async def reapply(self, member: str, space: str, a: str, k: str, n: str, same: bool) -> str:
        """A GitOps controller keeps an object as it has it, from now on, by force."""
        body = self._foreign(space, (a, k, n), same)
        self.reapplied[member, space, n] = body
        return await self.reapply_once(member, body)

    async def reapply_once(self, member: str, body: Object) -> str:
        tool = self.fleet.members[member].kube["tool"]
        return await self._say(tool.apply(body, field_manager="gitops", force=True))

    async def copy(self, member: str, space: str, a: str, k: str, n: str) -> str:
        """A copier takes an object with all of its labels and annotations under another name."""
        store = self.fleet.members[member].cluster.store
        held = store.get(f"{k.lower()}s", space, n)
        if held is None:
            return "nothing to copy"
        metadata = {key: held["metadata"].get(key) or {} for key in ("labels", "annotations")}
        body = {"apiVersion": a, "kind": k, "data": {"own": self._copied(k)}}
        target = "copy" if n != "copy" else "settings"
        body["metadata"] = {**metadata, "name": target, "namespace": space}
        tool = self.fleet.members[member].kube["tool"]
        return await self._say(tool.create(body, field_manager="copier"))

    def _copied(self, kind: str) -> str:

        text = self._canary()
        return base64.b64encode(text.encode()).decode() if kind == "Secret" else text

    async def accept_class(
        self, member: str, _s: str, _a: str, _k: str, _n: str, accept: bool
    ) -> str:
        mark = self.fleet.hub.hub_id if accept else None
        return await self._patch(
            member, CLASS[0], CLASS[1], "", CLASS[2], {"metadata": {"labels": {ACCEPT: mark}}}
        )

    async def make_class(self, member: str, _s: str, _a: str, _k: str, _n: str) -> str:
        body = a_class(1000, self._canary())
        return await self._say(
            self.fleet.members[member].kube["people"].create(body, field_manager="people")
        )

    async def _patch(self, member: str, a: str, k: str, space: str, n: str, patch: Object) -> str:
        people = self.fleet.members[member].kube["people"]
        return await self._say(
            people.merge_patch(a, k, space, n, patch, field_manager="kubectl-edit")
        )

    async def _say(self, doing: Any) -> str:
        try:
            await doing
        except errors.KubeError as refusal:
            return f"{refusal.status}"
        return ""
