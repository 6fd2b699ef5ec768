"""What a list shows is what the rules show of each row: conditions of queries and `Area.holds` agree."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.domain.access import Area, Scope
from hub.store import events, jobs, workload_pages, workloads
from tests.store.build import a_workload, opened

pytestmark = pytest.mark.anyio
NAMESPACES, QUEUES, OWNERS = ["a", "ab", "b"], ["q", "qq"], ["ann", "an", ""]


def some(values: list[str]) -> st.SearchStrategy[frozenset[str] | None]:
    return st.none() | st.frozensets(st.sampled_from(values), max_size=2)


AREAS = st.builds(Area, some(NAMESPACES), some(QUEUES), st.sampled_from(OWNERS))
SCOPES = st.lists(AREAS, max_size=3).map(lambda areas: Scope(tuple(areas), tuple(areas)))


async def test_lists_show_what_the_rules_show(tmp_path):
    """Of jobs by namespace, queue and owner; of events by namespace; nothing where nothing may be seen."""
    async with opened(tmp_path) as db:
        places = list(itertools.product(NAMESPACES, QUEUES, OWNERS))
        rows = [
            a_workload(f"u{n}", name=f"j{n}", namespace=place[0], queue=place[1], owner=place[2])
            for n, place in enumerate(places)
        ]
        await db.write(lambda tx: workloads.add(tx, rows))

        async def shown(scope: Scope) -> set[str]:
            def read(tx):
                tx.scope = scope
                listed = {row.uid for row in jobs.page(tx, {}, None, 100).rows}
                whole = {row.uid for row in workload_pages.page(tx, {}, (), None, None, 100)}
                stand = {row.uid for row in workload_pages.states(tx, [row.uid for row in rows])}
                assert listed == whole == stand
                assert scope.sees or events.list_events(tx) == []
                return listed

            return await db.read(read)

        for scope in _examples(60):
            expected = {r.uid for r in rows if scope.shows(r.namespace, r.queue, r.owner)}
            assert await shown(scope) == expected, scope


def _examples(count: int) -> list[Scope]:
    found: list[Scope] = [Scope((), ())]

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(SCOPES)
    def gather(scope: Scope) -> None:
        found.append(scope)

    gather()
    return found
