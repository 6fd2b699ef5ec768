"""What a reply carries is composed in parts, so that others go on in between."""

from dataclasses import replace

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.works import reply_pages
from hub.services.works.offer import PreparedOffer
from hub.store.records.works import Composable, Desired
from shared.wire.agent_v1 import Work
from tests.services.members.hubs import JOB

pytestmark = pytest.mark.anyio


def a_work(number: int, size: int = 0) -> PreparedOffer:
    """A job to be applied; `size`: of a note in its manifest, in bytes."""
    metadata = {
        "name": f"job-{number}",
        "namespace": "team-a",
        "annotations": {"note": "x" * size},
    }
    row = Composable(
        "north", f"uid-{number}", 1, 1, "batch/v1", "Job", "team-a", f"job-{number}", "Apply", "",
        ApplyOptions(), "", False, False,
        orjson.dumps({**JOB, "metadata": metadata}), "m", "q", "Placed", 1, None,
        None, None, {},
    )  # fmt: skip
    return PreparedOffer(row, ApplyOptions(), "h")


async def composed(ready: list[PreparedOffer]) -> tuple[int, dict[str, reply_pages.Composed]]:
    """How often others had their turn, and what was composed."""
    turns = 0

    async def pause() -> None:
        nonlocal turns
        turns += 1

    found = await reply_pages.compose(ready, "hub", "inc", "session", pause)
    return turns, found


async def test_many_manifests_are_composed_in_parts() -> None:
    """Others have their turn after every quarter of a MiB that was composed."""
    turns, found = await composed([a_work(n, reply_pages.PART_BYTES // 8) for n in range(64)])
    assert turns >= 7
    assert list(found) == [f"uid-{n}" for n in range(64)]


async def test_a_few_works_wait_for_nobody() -> None:
    """A reply with little in it is composed in one go."""
    turns, found = await composed([a_work(n) for n in range(10)])
    assert turns == 0
    assert len(found) == 10


async def test_only_what_the_index_still_has_goes_out() -> None:
    """A work composed for another epoch, generation, action or incarnation does not match."""
    _, found = await composed([a_work(1)])
    one = found["uid-1"]
    row = Desired("north", "uid-1", 1, 1, "Apply", "h", True)
    assert one.matches(row, "inc")
    assert not one.matches(row, "another")
    for changed in ({"epoch": 2}, {"generation": 2}, {"action": "Withdraw"}):
        assert not one.matches(row._replace(**changed), "inc")


async def test_each_part_is_measured_by_itself() -> None:
    """After a pause the next part may be as large as the first was."""
    turns, _ = await composed([a_work(n, reply_pages.PART_BYTES // 4) for n in range(17)])
    assert turns == 4


async def test_what_can_not_be_composed_keeps_nothing_else() -> None:
    """It goes without a manifest, which its agent says; what stands beside it is sent."""
    ready = [a_work(n) for n in range(3)]
    odd = orjson.dumps({**JOB, "metadata": {"name": "job-1", "labels": "none"}})
    ready[1] = replace(ready[1], row=ready[1].row._replace(job_manifest=odd))
    _, found = await composed(ready)
    told = [orjson.loads(orjson.dumps(each.told)) for each in found.values()]
    assert ["manifest" in each for each in told] == [True, False, True]
    assert told[1]["uid"] == "uid-1"
    assert Work.model_validate(told[1]).action == "Apply"
