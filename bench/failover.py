"""Failover: two hubs on one PostgreSQL under load, and the leading one is killed (kill -9) again and again.

Per round two times, from the kill on: until another hub holds the lease (`leads_*`), and until a job that was
submitted after the kill is placed (`decides_*`), which only a new leader can do. Jobs come all the while; a
recorder that watches the members' API servers alone says whether each ran exactly once. The killed hub
is started again before the next round. With `--restart-database N` PostgreSQL is ended as in a crash and
started again together with the leader in every Nth round; the times of those rounds are apart.
"""

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg

from bench.local_fleet import Hubs, LocalFleet, equal_members, fleet, machine, show
from roadstead import Client, RoadsteadError
from tests import databases
from tests.e2e.recorder import Recorder
from tests.e2e.running import a_job

AIM_P99_S = 15.0
NAMESPACE = "team-a"
MEMBERS = 2
_POLL_S = 0.02
_GIVEN_UP_S = 120.0
_PLACED = frozenset({"Placed", "Offered", "Applied", "Running", "Succeeded"})
T = TypeVar("T")


class Load:
    """Submits a short job every so often, each under its key until a hub has taken it."""

    def __init__(self, local: LocalFleet, every_s: float) -> None:
        self._local, self._every_s = local, every_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.names: set[str] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(_GIVEN_UP_S)

    def _run(self) -> None:
        with self._local.client() as hub:
            while not self._ending.wait(self._every_s):
                name = f"job-{len(self.names):05d}"
                submit(hub, name)
                self.names.add(name)


def submit(hub: Client, name: str) -> str:
    """Submit a job until a hub has taken it; its uid."""

    def taken() -> str | None:
        with contextlib.suppress(RoadsteadError, OSError):
            return hub.submit(a_job(name, run_s=0.3), key=name).uid
        return None

    return wait(taken, f"{name} is taken")


def wait(question: Callable[[], T | None], what: str) -> T:
    """The first answer that is true. Raises SystemExit after two minutes."""
    until = time.monotonic() + _GIVEN_UP_S
    while time.monotonic() < until:
        if answer := question():
            return answer
        time.sleep(_POLL_S)
    raise SystemExit(f"not within {_GIVEN_UP_S:.0f} s: {what}")


def leading(server: databases.Server, after: int = 0) -> tuple[int, int] | None:
    """The process that leads under a later term than `after`, and its term; None while nobody does."""
    asked = "SELECT holder, term FROM leases WHERE name = 'leader' AND expires_at > now() AND term > %s"
    with contextlib.suppress(psycopg.Error), psycopg.connect(server.address("hub")) as conn:
        row = conn.execute(asked, (after,)).fetchone()
        return None if row is None else (int(row[0].rpartition("/")[2]), int(row[1]))
    return None


def kill(
    local: LocalFleet, server: databases.Server, hub: Client, number: int, *, restart: bool
) -> tuple[float, float]:
    """One round: seconds until another hub leads, and until it has placed a job."""
    pid, term = wait(lambda: leading(server), "a hub leads")
    starts = _starts(local)
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    if restart:
        server.stop(signal.SIGQUIT)
        server.start()
    led: list[float] = []
    watching = threading.Thread(target=_watch, args=(server, term, led), daemon=True)
    watching.start()
    uid = submit(hub, f"probe-{number:03d}")
    try:
        wait(lambda: _is_placed(hub, uid), f"round {number}: a job is placed")
    except SystemExit:
        _tell(local, server, hub, uid)
        raise
    decided = time.monotonic()
    watching.join()
    wait(lambda: _starts(local) > starts and _both_live(local, pid), "the killed hub is back")
    return led[0] - began, decided - began


def _tell(local: LocalFleet, server: databases.Server, hub: Client, uid: str) -> None:
    """What there is to see when no hub decides: on stderr."""
    print(f"leads: {leading(server)}", file=sys.stderr)
    with contextlib.suppress(RoadsteadError, OSError):
        print(f"waits: {hub.job(uid)}", file=sys.stderr)
    for name in ("hub", "hub-2"):
        lines = (local.folder / "logs" / f"{name}.log").read_text(errors="replace").splitlines()
        print(f"--- {name}, pid {local.pid(name)}", *lines[-60:], sep="\n", file=sys.stderr)


def _watch(server: databases.Server, term: int, led: list[float]) -> None:
    wait(lambda: leading(server, term), "another hub leads")
    led.append(time.monotonic())


def _is_placed(hub: Client, uid: str) -> bool:
    with contextlib.suppress(RoadsteadError, OSError):
        return hub.job(uid).state in _PLACED
    return False


def _starts(local: LocalFleet) -> int:
    """How often a hub has said that it answers now."""
    logs = (local.folder / "logs" / f"{name}.log" for name in ("hub", "hub-2"))
    return sum(log.read_text(errors="replace").count("\nready ") for log in logs)


def _both_live(local: LocalFleet, killed: int) -> bool:
    with contextlib.suppress(OSError, ValueError):
        pids = {local.pid("hub"), local.pid("hub-2")}
        return killed not in pids and all(Path(f"/proc/{pid}").exists() for pid in pids)
    return False


def measure(args: argparse.Namespace) -> dict[str, Any]:
    if reason := databases.postgres_is_missing():
        raise SystemExit(reason)
    rng = random.Random(args.seed)
    leads: list[float] = []
    decides: list[float] = []
    restarted: list[float] = []
    with (
        databases.own_server(durable=True) as server,
        fleet(equal_members(MEMBERS), hubs=Hubs(server.database("hub"), 2)) as local,
        local.client() as hub,
    ):
        members = [f"m{i}" for i in range(1, MEMBERS + 1)]
        configs = {name: local.folder / "members" / f"{name}.kubeconfig" for name in members}
        with Recorder(configs, NAMESPACE) as recorder:
            with Load(local, args.every_s) as load:
                for number in range(1, args.kills + 1):
                    time.sleep(args.between_s + rng.uniform(0, 2))  # the kill's phase varies
                    restart = bool(args.restart_database) and number % args.restart_database == 0
                    led, decided = kill(local, server, hub, number, restart=restart)
                    (restarted if restart else decides).append(decided)
                    leads += [] if restart else [led]
                    print(
                        f"{number}: leads {led:.2f} s, decides {decided:.2f} s"
                        f"{', database restarted' if restart else ''}",
                        file=sys.stderr,
                        flush=True,
                    )
            names = load.names | {f"probe-{n:03d}" for n in range(1, args.kills + 1)}
            wait(lambda: recorder.completed() >= len(names), "all jobs have ended")
            wrong = recorder.violations(names, 1)
        told = wait(lambda: _succeeded(hub, len(names)), "the hub knows that all have ended")
    return {
        "kills": args.kills,
        **_spread("leads", leads),
        **_spread("decides", decides),
        **(_spread("decides_restarted", restarted) if restarted else {}),
        "jobs": len(names),
        "succeeded": told,
        "not_exactly_once": wrong,
        "aim_p99_s": AIM_P99_S,
        "aim_met": _rank([*decides, *restarted], 0.99) <= AIM_P99_S and not wrong,
        "machine": machine(),
    }


def _succeeded(hub: Client, wanted: int) -> int:
    with contextlib.suppress(RoadsteadError, OSError):
        found = hub.overview().jobs.get("Succeeded", 0)
        return found if found >= wanted else 0
    return 0


def _spread(name: str, values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {
        f"{name}_p50_s": round(statistics.median(values), 2),
        f"{name}_p99_s": round(_rank(values, 0.99), 2),
        f"{name}_max_s": round(max(values), 2),
    }


def _rank(values: list[float], share: float) -> float:
    """The value that so large a share does not exceed: an observed one, the largest of few."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--restart-database",
        type=int,
        default=0,
        metavar="N",
        help="PostgreSQL too, every Nth round",
    )
    parser.add_argument("--every-s", type=float, default=0.2, help="between two jobs")
    parser.add_argument(
        "--between-s", type=float, default=2.0, help="between two rounds, at least"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the phases of the kills")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    figures = measure(args)
    show(figures, only_json=args.json)
    sys.exit(0 if figures["aim_met"] else 1)


if __name__ == "__main__":
    main()
