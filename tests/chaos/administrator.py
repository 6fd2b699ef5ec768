"""The administrator of a schedule: restores backups, changes queues, and applies and removes placements.

What an acknowledged change forbids goes into the ledger as a window. A request without an answer may take
effect later, so it ends the windows at once, and none begins for a while.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roadstead.errors import NotFound, Rejected, RoadsteadError
from shared.groups import KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from tests.chaos import manifests
from tests.chaos.fleet import Fleet
from tests.chaos.history import History, Restore, Window, seconds
from tests.chaos.member import Member
from tests.chaos.restored import is_of_lost_time
from tests.chaos.user import User
from tests.e2e.running import until

Json = dict[str, Any]
_LATE_S = 30.0  # within which a request without an answer takes effect, if ever
_MEND_S = 5.0
_UP_S = 60.0
_ADOPTING_LOOKS = 4  # looks that adopt; later ones remove what is left
_WAITS = ["Held", "Deactivated"]
_STATES = {"release": _WAITS, "hold": ["Running", "Applied", "Offered", "Pending"]}


class Administrator:
    """Its methods may be called from several threads, but for `restore`, which starts processes."""

    def __init__(self, fleet: Fleet, user: User, quota: int) -> None:
        self._fleet, self._user, self.ledger = fleet, user, user.ledger
        self._first = self._cores = quota
        self._stops: dict[str, str] = {}
        self._queues = threading.RLock()
        self._open: dict[str, Window] = {}
        self._sure_from = 0.0
        self._copying = threading.Lock()
        self._copy: tuple[float, Path] | None = None
        self._placed: dict[str, str] = {}  # path by name
        self._declared = self.is_busy = False
        self._looks, self._mended = 0, -_MEND_S
        self._events: dict[tuple[str, int], Json] = {}

    # --- a backup and its restore -------------------------------------------------------------------

    def back_up(self) -> None:
        """Take a backup while hubs run."""
        with self._copying:
            self._back_up()

    def _back_up(self) -> None:
        began, file = time.time(), self._fleet.folder / "hub.backup"
        self._fleet.run(
            "roadstead.cli", "admin", "backup", str(file), "--database", self._fleet.database
        )
        self._copy = (began, file)

    def restore(self) -> float:
        """Put the backup in the database's place; when it was taken, 0 if there is none."""
        with self._copying:
            if self._copy is None:
                return 0.0
        self.is_busy = True
        with contextlib.suppress(RoadsteadError, OSError):
            self.read_events()
        fleet, (began, file) = self._fleet, self._copy
        with self._queues:
            self._close(*self._open)
            self._sure_from = time.time() + _LATE_S
        stopped = time.time()
        for name in fleet.hubs.names:
            fleet.keep_down(name)
        more = ["--force"] if fleet.hubs.server is not None else []
        if fleet.hubs.server is not None:
            fleet.hubs.server.start()
        asked = ["admin", "restore", str(file), "--replace", "--database", fleet.database, *more]
        fleet.run("roadstead.cli", *asked)
        for name in fleet.hubs.names:
            fleet.bring_up(name)
        self.ledger.restores.append(
            Restore(backup=began, stopped=stopped, up=0.0, accepted=0.0, jobs={})
        )
        return began

    def go_on(self, join: Callable[[], None], accept_after: float, acts: list[Any]) -> None:
        """Accept the restored database, and act at once: (seconds later, verb, how many).

        `join`: what agents need whose credentials are of the lost time.
        """
        try:
            self._go_on(join, accept_after, acts)
        finally:
            self.is_busy = False

    def _go_on(self, join: Callable[[], None], accept_after: float, acts: list[Any]) -> None:
        self._look_at_the_copy()
        join()
        _wait(accept_after)
        self._accept()
        began = time.monotonic()
        for after, verb, count in acts:
            _wait(began + after - time.monotonic())
            try:
                if verb in {"forget", "adopt"}:
                    self._decide(verb, count)
                else:
                    self._user.act(verb, count, _STATES.get(verb, ["Held"]))
            except (RoadsteadError, OSError):
                continue

    def _look_at_the_copy(self) -> None:
        """What the hub knows of before: what was acknowledged since the backup is lost."""
        jobs: list[Json] = []

        def known() -> bool:
            try:
                jobs[:] = self._fleet.jobs()
            except (RoadsteadError, OSError):
                return False
            return True

        until(known, _UP_S, "the restored hub answers")
        restore = self.ledger.restores[-1]
        restore["jobs"] = {
            j["uid"]: {"state": j["state"], "cluster": j.get("cluster"), "epoch": j["epoch"]}
            for j in jobs
        }
        self._user.lose(set(restore["jobs"]), restore["backup"])
        restore["up"] = time.time()

    def _accept(self) -> None:
        def accepted() -> bool:
            with contextlib.suppress(RoadsteadError, OSError):
                self._accept_now()
                return True
            return False

        until(accepted, _UP_S, "the restored database is accepted")

    def _accept_now(self) -> None:
        if self._fleet.request("GET", "/v1/restored")["stopped"]:
            self._fleet.request("POST", "/v1/restored:accept")
            self.ledger.restores[-1]["accepted"] = time.time()

    def _decide(self, verb: str, count: int) -> int:
        """Adopt or forget Jobs of before; how many are listed. Raises RoadsteadError."""
        listed = self._fleet.request("GET", "/v1/restored")["items"]
        for each in listed[:count]:
            body = json.dumps({"cluster": each["cluster"]}).encode()
            try:
                self._fleet.request("POST", f"/v1/restored/{each['uid']}/{verb}", body=body)
            except Rejected:
                continue  # it is not as it was listed, or not to be had yet
        return len(listed)

    # --- queues --------------------------------------------------------------------------------------

    def queue(self, what: str, **given: Any) -> None:
        """Stop, resume, resize, delete or make a queue. Raises RoadsteadError."""
        with self._queues:
            getattr(self, f"_{what}")(**given)

    def _stop(self, queue: str, drain: bool) -> None:
        body = json.dumps({"drain": drain}).encode()
        self._stops[queue] = "HoldAndDrain" if drain else "Hold"
        self._ask("stopped", f"stopped {queue}", f"/v1/queues/{queue}/stop", body)

    def _resume(self, queue: str) -> None:
        self._stops.pop(queue, None)
        self._ask("", f"stopped {queue}", f"/v1/queues/{queue}/resume")

    def _delete(self, drain: bool) -> None:
        path = f"/v1/objects/{KUEUE}/ClusterQueue/{manifests.TIGHT}?drain={str(drain).lower()}"
        self._ask("deleted", "deleted", path, method="DELETE")

    def _make(self) -> None:
        self._resize(self._cores)

    def _resize(self, cores: int) -> None:
        """The ClusterQueue as it is wanted; where it was deleted, it is there again."""
        self._cores = cores
        stop = self._stops.get(manifests.TIGHT, "None")
        body = json.dumps(manifests.cluster_queue(manifests.TIGHT, cores, stop)).encode()
        self._close("deleted")
        self._ask("resized", "resized", "/v1/apply", body)

    def _ask(
        self, opens: str, key: str, path: str, body: bytes | None = None, method: str = "POST"
    ) -> None:
        """A request that ends the window `key`, and begins one where it is acknowledged."""
        self._close(key)
        try:
            self._fleet.request(method, path, body=body)
        except (Rejected, NotFound):
            raise
        except (RoadsteadError, OSError):
            self._close(*self._open)
            self._sure_from = time.time() + _LATE_S
            raise
        now = time.time()
        if opens and now > self._sure_from:
            cores = float(self._cores)
            self._open[key] = Window(what=opens, since=now, until=0.0, cores=cores)
            self.ledger.windows.append(self._open[key])

    def _close(self, *keys: str) -> None:
        for key in keys:
            window = self._open.pop(key, None)
            if window is not None:
                window["until"] = time.time()

    # --- placements ----------------------------------------------------------------------------------

    def declare(self) -> None:
        """ConfigMaps of the hub, and the placement that stays. Raises RoadsteadError."""
        self._declared = True
        maps = [manifests.config_map(name) for name in (*manifests.MAPS, manifests.KEPT)]
        self._apply(*maps, manifests.kept())
        self.ledger.keeps = True

    def place(self, name: str, selects: list[str], picks: str, **more: Any) -> None:
        """Apply a placement, or another form of it. Raises RoadsteadError."""
        manifest = manifests.placement(name, selects, picks, **more)
        where = "" if selects[0] == "cluster" else f"/namespaces/{manifests.NAMESPACE}"
        self._placed[f"{manifest['kind']} {name}"] = (
            f"/v1/objects/{PLACEMENT}/{manifest['kind']}{where}/{name}"
        )
        self.ledger.seized |= more["take_over"] == "Always"
        self._apply(manifest)

    def unplace(self, name: str) -> None:
        """Delete what placements there are of this name. Raises RoadsteadError."""
        for key, path in list(self._placed.items()):
            if key.endswith(f" {name}"):
                self._gone(path)

    def _gone(self, path: str) -> None:
        try:
            self._fleet.request("DELETE", path)
        except NotFound:
            return

    def _apply(self, *documents: Json) -> None:
        self._fleet.request("POST", "/v1/apply", body=json.dumps(documents).encode())

    # --- the end -------------------------------------------------------------------------------------

    def mend(self) -> None:
        """Queues as before, no placement, each Job of before the restore decided. Raises RoadsteadError."""
        if self.is_busy:
            return
        if time.monotonic() - self._mended > _MEND_S:
            self._mend()
            self._mended = time.monotonic()
        if self.ledger.restores:
            self._accept_now()
            self._looks += 1
            self._decide("adopt" if self._looks <= _ADOPTING_LOOKS else "forget", 1000)

    def _mend(self) -> None:
        with self._queues:
            self._stops.clear()
            self._close(*self._open)
            self._cores = self._first
            self._fleet.request("POST", "/v1/apply", body=manifests.queues(self._first))
            for queue in (manifests.TIGHT, f"{manifests.NAMESPACE}/{manifests.TIGHT}"):
                self._fleet.request("POST", f"/v1/queues/{queue}/resume")
        for path in list(self._placed.values()):
            self._gone(path)
        if self._declared:
            self.declare()

    def read_events(self) -> list[Json]:
        """All events of jobs that the hubs have shown up to now. Raises RoadsteadError."""
        query: Json = {"limit": 500}
        while True:
            page = self._fleet.request("GET", "/v1/events", query=query)
            for each in page["items"]:
                if each["kind"] == "Job":
                    kept = {key: each[key] for key in ("uid", "name", "reason", "cause", "epoch")}
                    self._events[each["at"], each["id"]] = {"at": seconds(each["at"]), **kept}
            if not page.get("continue"):
                return sorted(self._events.values(), key=lambda each: each["at"])
            query["continue"] = page["continue"]

    def _is_of_lost_time(self, created: float) -> bool:
        return is_of_lost_time(History(ledger=self.ledger), created)

    def left(self, members: dict[str, Member]) -> list[str]:
        """ConfigMaps that are where they should not be, or the reverse. Raises RoadsteadError, OSError."""
        if not self._declared:
            return []
        maps: dict[str, Json] = {}
        for member in members.values():
            maps |= member.maps(manifests.NAMESPACE)
        known = {k for k, each in maps.items() if not self._is_of_lost_time(each["created"])}
        ours = {key for key, each in maps.items() if each["ours"]}
        wrong = sorted(key for key in ours & known if not key.endswith(f"/{manifests.KEPT}"))
        missing = sorted({f"m1/{manifests.KEPT}"} - ours)
        return [*wrong, *missing]


def _wait(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)
