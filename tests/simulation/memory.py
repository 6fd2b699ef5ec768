"""The hub's store in memory: rows as dicts, and the functions of `hub.store` that the services call.

The services themselves are the product's, bound to these functions (`tests.simulation.bound`). What
the functions mean is the docstrings of `hub.store`.
"""

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import orjson

from hub.domain.workloads.states import QUEUED, TERMINAL, State, Transition, sources, target
from hub.services.works import compose
from hub.store.records.members import Member, Speaking
from hub.store.records.workloads import Workload
from hub.store.records.works import Composable, Desired, StandingWork, Work
from tests.simulation import lost
from tests.simulation.manifests import compose_job, manifest
from tests.simulation.world import Violation, World
from tests.store.build import a_work, a_workload

Row = dict[str, Any]
_ALLOWED: dict[str, tuple[frozenset[str], str, bool]] = {}
_TERMINAL = frozenset(map(str, TERMINAL))
_FREED: Row = {"cluster": None, "withdraw_to": "", "active": 0, "ready": 0, "started_at": None}
_NOTHING = a_workload("")


class Store:
    """What is durable. `on_move(row, name, before)` is told of each transition."""

    def __init__(self, world: World, on_move: Callable[[Row, str, str], None]) -> None:
        self.world = world
        self.on_move = on_move
        self.workloads: dict[str, Row] = {}
        self.works: dict[tuple[str, str], Row] = {}
        self.clusters: dict[str, Member] = {}
        self.settings: dict[str, Any] = {}
        self.revision = 0
        self.shared = False  # with other hubs
        self.changed: Callable[[set[str]], None] = _nothing
        self.on_offer: Callable[[str, int], None] = _nothing

    # What `hub.store.engine.Database` offers.
    async def read(self, fn: Callable[["Transaction"], Any]) -> Any:
        return fn(Transaction(self))

    async def write(self, fn: Callable[["Transaction"], Any]) -> Any:
        return self.commit(fn)

    async def write_shared(self, fn: Callable[..., Any], item: Any) -> Any:
        return self.commit(lambda tx: fn(tx, [item])[0])

    def commit(self, fn: Callable[["Transaction"], Any]) -> Any:
        tx = Transaction(self)
        answer = fn(tx)
        self.revision += 1
        keys = tx.touched.get("works")
        if keys:
            self.changed(keys)
        return answer

    def copy(self) -> dict[str, Any]:
        """What a backup holds."""
        kept = ("workloads", "works", "clusters", "settings", "revision")
        return copy.deepcopy({name: getattr(self, name) for name in kept})

    def restore(self, backup: dict[str, Any]) -> None:
        """Be as it was."""
        for name, value in backup.items():
            setattr(self, name, value)


def _nothing(*_told: Any) -> None:
    return None


class Transaction:
    """One transaction on a `Store`."""

    __slots__ = ("now", "store", "touched")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = store.world.wall()
        self.touched: dict[str, set[str]] = {}

    def touch(self, kind: str, *keys: str) -> None:
        self.touched.setdefault(kind, set()).update(keys)

    def event(self, **_said: str) -> None:
        return None

    def say(self, *_said: object, **_how: object) -> None:
        return None

    def require_term(self, _term: int) -> None:
        return None


# --- workloads -----------------------------------------------------------------------------------


def _rule(name: str) -> tuple[frozenset[str], str, bool]:
    rule = _ALLOWED.get(name)
    if rule is None:
        move = Transition(name)
        state = target(move)
        rule = _ALLOWED[name] = (frozenset(map(str, sources(move))), str(state), state in QUEUED)
    return rule


def transition(tx: Transaction, name: str, rows: Sequence[Row]) -> list[str]:
    allowed, after, freed = _rule(name)
    moved = []
    for row in rows:
        held = tx.store.workloads.get(row["uid"])
        if held is None or held["epoch"] != row["epoch"] or held["state"] not in allowed:
            continue
        before = held["state"]
        was = dict(held) if freed else held
        held["state"], held["reason"], held["message"] = after, "", ""
        if freed:
            held.update(_FREED)
        held.update(row)
        if after in _TERMINAL and held["withdraw_to"] == "Deleted":
            held.update(live=None, deleted_at=tx.now)
        if name == "start":
            held["started_at"] = tx.now
        if name == "place":
            held["epoch"] += 1
            held["placed_at"] = tx.now
        moved.append(row["uid"])
        was = {**was, "reason": held["reason"]} if freed else held
        tx.store.on_move(was, name, before)
    return moved


def change(tx: Transaction, rows: Sequence[Row]) -> None:
    for row in rows:
        tx.store.workloads[row["uid"]].update(row)


def get_many(tx: Transaction, uids: Iterable[str]) -> dict[str, Workload]:
    held = tx.store.workloads
    return {uid: record(held[uid]) for uid in uids if uid in held}


def record(row: Row) -> Workload:
    """A workload as the services know it; columns that nothing here looks at are a pending job's."""
    return _NOTHING._replace(**{name: row[name] for name in Workload._fields if name in row})


def get(tx: Transaction, uid: str) -> Workload | None:
    return get_many(tx, [uid]).get(uid)


def count(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        held = tx.store.workloads[row["uid"]]
        if held["epoch"] != row["epoch"]:
            continue
        for name in ("succeeded", "failed", "active", "ready", "reason", "message"):
            held[name] = row[name]
        if "all_ready" in row:
            held["pods_ready"] = row["all_ready"]


def new_workload(tx: Transaction, uid: str, name: str, **given: Any) -> None:
    """Submit a job."""
    assert uid not in tx.store.workloads, f"{uid} is given twice"
    row: Row = {
        "uid": uid, "kind": "Job", "namespace": "n", "name": name, "state": str(State.PENDING),
        "epoch": 0, "withdraw_to": "", "reason": "", "message": "", "succeeded": 0, "failed": 0,
        "active": 0, "ready": 0, "parallelism": 1, "completions": 1, "pods_ready": False,
        "annotations": None, "set_aside": None, "cluster": None, "live": True, "deleted_at": None,
        "generation": 1, "placement": "", "ttl_s": None, "requeues": 0, "requeue_at": None,
        "created_at": tx.now, "queued_at": tx.now, "ran_s": 0, "placed_at": None,
        "evictions": None, "evicted": None, "checks": None, "cluster_queue": "q", "queue": "",
        "max_runtime_s": None, "started_at": None, "unstarted": 0,
        "retries": 0, "retry_epoch": 0, "held_for": "",
    }  # fmt: skip
    row.update(given)
    tx.store.workloads[uid] = row


# --- works ---------------------------------------------------------------------------------------


def key(cluster: str, uid: str) -> str:
    return f"{cluster}/{uid}"


def upsert(tx: Transaction, rows: Sequence[Row]) -> None:
    for row in rows:
        tx.store.works[row["cluster"], row["uid"]] = {
            "action": "Apply", "hash": "", "offered": False, "seen": False, "phase": "",
            "observed": None, "drift": None, "reason": "", "message": "", "available": None, **row,
        }  # fmt: skip
        tx.touch("works", key(row["cluster"], row["uid"]))


def _desired(row: Row) -> Desired:
    return Desired(
        row["cluster"],
        row["uid"],
        row["epoch"],
        row["generation"],
        row["action"],
        row["hash"],
        row["offered"],
    )


def all_desired(tx: Transaction) -> list[Desired]:
    return [_desired(row) for row in tx.store.works.values()]


def desired(tx: Transaction, keys: Iterable[str]) -> list[Desired]:
    rows = (tx.store.works.get(tuple(each.split("/"))) for each in sorted(keys))  # type: ignore[arg-type]
    return [_desired(row) for row in rows if row is not None]


def composable(tx: Transaction, cluster: str, uids: Sequence[str]) -> list[Composable]:
    found = []
    for uid in uids:
        row = tx.store.works.get((cluster, uid))
        if row is None:
            continue
        job = tx.store.workloads.get(uid)
        known = job is not None
        found.append(
            Composable(
                cluster=cluster, uid=uid, epoch=row["epoch"], generation=row["generation"],
                api_version="batch/v1", kind="Job", namespace=row["namespace"], name=row["name"],
                action=row["action"], hash=row["hash"], options=row["options"], placed_by="",
                offered=row["offered"], seen=row["seen"],
                job_manifest=orjson.dumps(manifest(job)) if job is not None else None,
                job_hash=f"m{row['generation']}", queue=None,
                state=job["state"] if job is not None else None,
                workload_epoch=job["epoch"] if known else None,
                ttl_s=job["ttl_s"] if known else None,
                object_manifest=None, object_hash=None, annotations=None,
            )
        )  # fmt: skip
    return found


def standing(tx: Transaction, cluster: str, uids: Sequence[str]) -> dict[str, StandingWork]:
    found = {}
    for uid in uids:
        row = tx.store.works.get((cluster, uid))
        if row is None:
            continue
        job = tx.store.workloads[uid]
        found[uid] = StandingWork(
            uid, row["epoch"], row["generation"], "Job", "n", row["name"], row["action"],
            row["seen"], row["phase"], row["options"],
            None if row["observed"] is None else orjson.dumps(row["observed"]), None,
            job["state"], job["epoch"], job["withdraw_to"], job["reason"], job["message"],
            job["succeeded"], job["failed"], job["active"], job["ready"], job["parallelism"],
            job["completions"], job["pods_ready"],
            None if job["annotations"] is None else orjson.dumps(job["annotations"]),
            None if job["set_aside"] is None else orjson.dumps(job["set_aside"]),
            job["started_at"], job["cluster"] or "", job["unstarted"],
            retries=job["retries"], retry_epoch=job["retry_epoch"],
        )  # fmt: skip
    return found


def offer(tx: Transaction, rows: Sequence[Row]) -> None:
    for row in rows:
        held = tx.store.works[row["cluster"], row["uid"]]
        job = tx.store.workloads[row["uid"]]
        if not held["offered"] and held["action"] == "Apply":
            placed = job["state"] == State.PLACED and job["epoch"] == held["epoch"]
            if not placed:
                raise Violation("R-03", f"{row['uid']} offered while {job['state']}")
            tx.store.on_offer(row["uid"], held["epoch"])
        held.update(offered=True, options=row["options"], hash=row["hash"])
        tx.touch("works", key(row["cluster"], row["uid"]))


def observe(tx: Transaction, rows: Sequence[Row]) -> None:
    for row in rows:
        tx.store.works[row["cluster"], row["uid"]].update(row)


def remove(tx: Transaction, keys: Sequence[tuple[str, str]]) -> None:
    for each in keys:
        if tx.store.works.pop(tuple(each), None) is not None:  # type: ignore[arg-type]
            tx.touch("works", key(*each))


def act(tx: Transaction, action: str, keys: Sequence[tuple[str, str]]) -> None:
    for each in keys:
        row = tx.store.works.get(tuple(each))  # type: ignore[arg-type]
        if row is not None:
            row["action"] = action
            tx.touch("works", key(*each))


def of_uids(tx: Transaction, uids: Sequence[str]) -> list[Work]:
    return [a_work(**row) for row in tx.store.works.values() if row["uid"] in uids]


def follow_generation(tx: Transaction, uid: str, generation: int) -> None:
    for row in tx.store.works.values():
        if row["uid"] == uid and row["action"] == "Apply":
            row["generation"] = generation
            tx.touch("works", key(row["cluster"], uid))


# --- clusters, settings, and what is only asked --------------------------------------------------


def _cluster(tx: Transaction, name: str) -> Member | None:
    return tx.store.clusters.get(name)


def _sessions(tx: Transaction, names: Collection[str]) -> dict[str, Speaking]:
    return {
        name: Speaking(each.session, each.session_seq)
        for name, each in tx.store.clusters.items()
        if name in names
    }


def _hear(tx: Transaction, newest: Mapping[str, int]) -> None:
    for name, seq in newest.items():
        _change_cluster(tx, name, session_seq=seq)


def _change_cluster(tx: Transaction, name: str, **columns: Any) -> None:
    tx.store.clusters[name] = tx.store.clusters[name]._replace(**columns)


def _put_setting(tx: Transaction, name: str, value: Any) -> None:
    tx.store.settings[name] = value


def nobody(*_args: Any, **_named: Any) -> Any:
    return {}


def _uids_of(tx: Transaction, cluster: str) -> list[str]:
    return [uid for name, uid in tx.store.works if name == cluster]


WORKLOADS = SimpleNamespace(transition=transition, change=change, get_many=get_many, get=get)
WORKS = SimpleNamespace(
    key=key, upsert=upsert, all_desired=all_desired, desired=desired, composable=composable,
    standing=standing, offer=offer, observe=observe, remove=remove, act=act, of_uids=of_uids,
    uids_of=_uids_of,
)  # fmt: skip
ON_MEMBERS = SimpleNamespace(count=count, jobs_on=lost.jobs_on, lost_jobs=lost.lost_jobs)
CLUSTERS = SimpleNamespace(
    get=_cluster, change=_change_cluster, beat=nobody, set_capacity=nobody,
    get_capacities=nobody, sessions=_sessions, hear=_hear, forget_capacity=nobody, say=nobody,
)  # fmt: skip
LEFTOVERS = SimpleNamespace(note=nobody, of_jobs=lambda *_: [], list_all=lambda *_: [], drop=nobody,
                            of_cluster=lambda *_: [], PREFIX="earlier_job:")  # fmt: skip
OBJECTS = SimpleNamespace(get_many=nobody)
NAMESPACE_IDS = SimpleNamespace(ids_of=lambda *_: {})  # people made all namespaces
SETTINGS = SimpleNamespace(
    get=lambda tx, name: tx.store.settings.get(name),
    put=_put_setting,
    remove=lambda tx, name: tx.store.settings.pop(name, None),
)
COMPOSE = SimpleNamespace(
    digest=lambda job, options, epoch: f"{job}:{epoch}",
    compose_job=compose_job,
    Stamp=compose.Stamp,
)
CHANGES = SimpleNamespace(last_revision=lambda tx: tx.store.revision)
DOUBTS = SimpleNamespace(options_of=nobody)
SILENT = SimpleNamespace(
    note_runs=nobody,
    evicted=nobody,
    note=nobody,
    add=nobody,
    forget_agent=nobody,
    double_run=nobody,
    forget=nobody,
    take_back=nobody,
    unproven=lambda _tx: {},
    is_about=lambda _names: False,
    is_proof=lambda *_given: False,
)
