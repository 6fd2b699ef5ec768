"""What a placement selects of a store, whole; and the revisions that are kept of it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from hub.services.placements.selecting import Selection, needed_kinds, read_rules, select
from hub.services.placements.snapshots import policy_hashes, snapshot_policy, snapshot_resources
from hub.store import objects, placements, workloads
from hub.store.engine import Database
from hub.store.records.objects import StoredObject
from hub.store.tables import snapshots
from hub.store.transaction import Transaction
from shared.documents import Json
from tests.services.placements.stored import CONFIGS, JOBS
from tests.store.build import a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
NAMESPACE: Json = {"group": "", "version": "v1", "kind": "Namespace", "name": "team-a"}
OWNER = [{"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]


def _objects() -> list[StoredObject]:
    """Two namespaces, and in the first what goes along and what does not."""
    token = {"type": "kubernetes.io/service-account-token"}
    return [
        an_object("ns-a", kind="Namespace", namespace="", name="team-a"),
        an_object("ns-b", kind="Namespace", namespace="", name="team-b"),
        an_object("ns-sys", kind="Namespace", namespace="", name="kube-system"),
        an_object("config", labels={"tier": "web"}),
        an_object("other", labels={"tier": "db"}),
        an_object("elsewhere", namespace="team-b", labels={"tier": "web"}),
        an_object("owned", manifest={"metadata": {"ownerReferences": OWNER}}),
        an_object("root", name="kube-root-ca.crt"),
        an_object("account", kind="ServiceAccount", name="default"),
        an_object("secret", kind="Secret", manifest={"type": "Opaque"}),
        an_object("token", kind="Secret", manifest=token),
        an_object(
            "typed", kind="Widget", api_group="w.dev", api_version="w.dev/v1", manifest=token
        ),
    ]


async def selected(tmp_path: Path, kind: str, *selectors: Json) -> Selection:
    """By a placement of namespace `team-a`, or of none."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            for row in _objects():
                objects.add(tx, row)
            workloads.add(
                tx,
                [
                    a_workload("job", labels={"tier": "web"}),
                    a_workload("plain"),
                    a_workload("gone", live=None, labels={"tier": "web"}),
                    a_workload("bare", kind="Workload", labels={"tier": "web"}),
                    a_workload("far", namespace="team-b", labels={"tier": "web"}),
                ],
            )

        await db.write(fill)
        namespace = "" if kind == "ClusterResourcePlacement" else "team-a"
        rules = read_rules(kind, namespace, {"resourceSelectors": list(selectors)})
        return await db.read(call(select, rules))


WEB = {"labelSelector": {"matchLabels": {"tier": "web"}}}
WHOLE = {"ns-a", "config", "other", "secret", "typed"}


@pytest.mark.parametrize(
    ("kind", "selectors", "found", "jobs"),
    [
        ("ClusterResourcePlacement", [NAMESPACE], WHOLE, {"job", "plain"}),
        ("ClusterResourcePlacement", [{**NAMESPACE, "selectionScope": "NamespaceOnly"}], {"ns-a"}, set()),
        (
            "ClusterResourcePlacement",
            [
                {**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors"},
                {**CONFIGS, **WEB},
                {**JOBS, "name": "plain"},
            ],
            {"ns-a", "config"},
            {"plain"},
        ),
        ("ResourcePlacement", [CONFIGS], {"config", "other"}, set()),
        ("ResourcePlacement", [{**CONFIGS, **WEB}], {"config"}, set()),
        ("ResourcePlacement", [{**CONFIGS, "name": "other"}, {**JOBS, **WEB}], {"other"}, {"job"}),
        ("ResourcePlacement", [JOBS], set(), {"job", "plain"}),
        ("ResourcePlacement", [{**JOBS, "name": "gone"}, {**JOBS, "name": "bare"}], set(), set()),
    ],
)  # fmt: skip
async def test_exactly_what_the_selectors_say_is_selected(
    tmp_path: Path, kind: str, selectors: list[Json], found: set[str], jobs: set[str]
):
    """Of its namespace, not what every namespace has by itself, and not what a controller makes."""
    selection = await selected(tmp_path, kind, *selectors)
    assert (set(selection.objects), set(selection.jobs)) == (found, jobs)
    assert selection.jobs_by_name == {
        name for each in selectors if each["kind"] == "Job" and (name := each.get("name")) in jobs
    }
    told = [(r.group, r.version, r.kind, r.name) for r in selection.resources()]
    assert told == sorted(told, key=lambda r: (r[0], r[2]))
    assert len(told) == len(selection.objects) + len(jobs)
    assert {r[1] for r in told} <= {"v1"}


async def test_a_namespace_of_the_system_is_refused_and_named(tmp_path: Path):
    """Nothing in it is selected either; the others are."""
    every = {"group": "", "version": "v1", "kind": "Namespace", "selectionScope": "NamespaceOnly"}
    selection = await selected(tmp_path, "ClusterResourcePlacement", every)
    assert (set(selection.objects), selection.refused) == ({"ns-a", "ns-b"}, ["kube-system"])


def test_kinds_that_are_needed_are_those_that_are_named():
    """Whole namespaces need all kinds; a Namespace alone, or with selectors, does not."""

    def needed(*selectors: Json) -> tuple[set[tuple[str, str, str]], bool]:
        return needed_kinds({"resourceSelectors": list(selectors)})

    named = {("", "v1", "Namespace"), ("batch", "v1", "Job")}
    assert needed(NAMESPACE, JOBS) == (named, True)
    for scope in ("NamespaceOnly", "NamespaceWithResourceSelectors"):
        assert needed({**NAMESPACE, "selectionScope": scope}, JOBS) == (named, False)


def test_selectors_may_select_what_they_name_and_what_lives_there():
    """Asked of one resource at a time: never no where `select` would say yes."""
    whole = read_rules("ClusterResourcePlacement", "", {"resourceSelectors": [NAMESPACE]})
    own = read_rules("ResourcePlacement", "team-a", {"resourceSelectors": [{**CONFIGS, **WEB}]})
    web = {"tier": "web"}
    assert whole.selects_jobs
    assert not own.selects_jobs
    for rules, of, may in (
        (whole, ("", "Namespace", "", "team-a", {}), True),
        (whole, ("", "Namespace", "", "team-b", {}), False),
        (whole, ("", "ConfigMap", "team-a", "c", {}), True),
        (whole, ("", "ConfigMap", "team-b", "c", {}), False),
        (whole, ("", "ConfigMap", "team-a", "kube-root-ca.crt", {}), False),
        (own, ("", "ConfigMap", "team-a", "c", web), True),
        (own, ("", "ConfigMap", "team-a", "c", {}), False),
        (own, ("", "ConfigMap", "team-b", "c", web), False),
        (own, ("", "Secret", "team-a", "c", web), False),
    ):
        assert rules.may_select(*of) is may, of


async def test_a_revision_is_made_of_each_change_and_of_nothing_else(tmp_path: Path):
    """Of what is selected and of its content; of the policy, whatever the order of its keys."""
    async with opened(tmp_path) as db:
        one, two = an_object("one", hash="a"), an_object("two", hash="b")
        job = a_workload("job")

        async def index(spec: Json, *rows: Any, jobs: tuple[Any, ...] = ()) -> int:
            found = Selection({r.uid: r for r in rows}, {j.uid: j for j in jobs})
            return await db.write(call(snapshot_resources, "p", found, spec))

        assert await index({}, one) == 0
        assert await index({}, one) == 0
        assert await index({}, one._replace(hash="c")) == 1
        assert await index({}, one._replace(hash="c"), two) == 2
        assert await index({}, two, one._replace(hash="c")) == 2
        assert await index({}, one._replace(hash="c"), two, jobs=(job,)) == 3
        assert await index({}, one._replace(hash="c"), two._replace(name="too")) == 4
        policies = [
            {"placementType": "PickN", "numberOfClusters": 1, "tolerations": []},
            {"tolerations": [], "numberOfClusters": 1, "placementType": "PickN"},
            {"placementType": "PickN", "numberOfClusters": 2, "tolerations": []},
            {"placementType": "PickN", "numberOfClusters": 1},
        ]
        first, same, scaled, other = [
            await db.write(call(snapshot_policy, "p", {"policy": each})) for each in policies
        ]
        assert first == same == scaled != other
        latest = await db.read(call(placements.latest_snapshot, "p", "policy"))
        assert latest is not None
        assert (latest.number, latest.hash) == (1, other)


def test_bindings_that_an_earlier_hub_made_are_of_the_same_policy():
    """It hashed the policy whole, the number of clusters too: nobody moves because the hub is newer."""
    policy = {"numberOfClusters": 1, "placementType": "PickN"}
    whole = hashlib.sha256(b'{"numberOfClusters":1,"placementType":"PickN"}').hexdigest()
    assert whole in policy_hashes({"policy": policy})
    assert len(policy_hashes({"policy": policy})) == 2


async def _kept(db: Database) -> int:
    def count(tx: Transaction) -> int:
        return len(tx.conn.execute(snapshots.select().where(snapshots.c.part == "policy")).all())

    return await db.read(count)


@pytest.mark.parametrize(("limit", "kept"), [(None, 10), (2, 2)])
async def test_as_many_revisions_are_kept_as_the_placement_says(
    tmp_path: Path, limit: int | None, kept: int
):
    """Ten where it says nothing; those of another part are not counted."""
    async with opened(tmp_path) as db:
        given = {"revisionHistoryLimit": limit} if limit else {}
        found = Selection({"one": an_object("one")})
        await db.write(call(snapshot_resources, "p", found, given))
        for n in range(12):
            await db.write(call(snapshot_policy, "p", {"policy": {"n": n}, **given}))
        assert await _kept(db) == kept
        assert await db.read(call(placements.latest_snapshot, "p", "resources")) is not None
