"""The worked examples of fair sharing in docs/howto/queues.md: the engine computes each of their numbers."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from hub.domain.quota.usage_history import UsageHistory
from tests.house.sources import REPOSITORY
from tests.offline.build import FAIR, Played, a_cohort, a_holder, a_queue, a_workload, play

PAGE: Final = (REPOSITORY / "docs/howto/queues.md").read_text()
NOMINAL: Final = {"vision": 20, "speech": 20}
WEIGHTS: Final = {"vision": 1, "speech": 2}


def table(first: str) -> list[list[str]]:
    """The rows of the table of the page whose first column is called `first`."""
    (_, _, after) = PAGE.partition(f"| {first} |")
    rows = after.splitlines()[2:]
    cells = [[each.strip() for each in row.strip("|").split("|")] for row in rows]
    return cells[: next(at for at, row in enumerate(rows) if not row.startswith("|"))]


def scene(used: Mapping[str, int], **asked: int) -> Played:
    """The cohort of the page: both queues with jobs of 10 CPUs that run, and who asks for more."""
    objects: list[Any] = [a_cohort("lab", 60)]
    for name, cpus in used.items():
        objects.append(a_queue(name, NOMINAL[name], "lab", weight=WEIGHTS[name], reclaim="Any"))
        objects += [a_holder(f"{name}-{n}", name, 10) for n in range(cpus // 10)]
    # The job of `vision` has waited for longer.
    asks = [a_workload(f"new-{n}", n, asked[n], age=9 - i) for i, n in enumerate(asked)]
    return play(*objects, *asks, settings=FAIR)


def told(thousandths: int) -> str:
    return f"{thousandths / 10:g} %"


@pytest.mark.parametrize("row", table("queue"), ids=lambda row: row[0])
def test_shares_of_the_example(row: list[str]) -> None:
    """Nominal quota, weight, use, what is borrowed, the share now, and with the next job."""
    name, nominal, weight, used, borrowed, now, then = row
    name = name.strip("`")
    assert (NOMINAL[name], WEIGHTS[name]) == (int(nominal), int(weight))
    assert int(used) - int(nominal) == int(borrowed)
    running = {"vision": 50, "speech": 40}
    assert running[name] == int(used)
    assert told(scene(running).share(name)) == now
    after = {**running, name: running[name] + 10}
    assert told(scene(after).share(name)) == then


def test_who_is_first_in_the_example() -> None:
    """Ten CPUs are left for two jobs of ten: the queue with the lower share gets them."""
    played = scene({"vision": 50, "speech": 40}, vision=10, speech=10)
    assert played.admitted() == {"new-speech"}


@pytest.mark.parametrize("row", table("victims"), ids=lambda row: row[0])
def test_whom_the_example_preempts(row: list[str]) -> None:
    """The cohort is full: the share of the preemptor with its job, that of `vision` without its victims."""
    victims, speech, vision = row
    used = {"vision": 50 - 10 * int(victims), "speech": 60}
    assert told(scene(used).share("speech")) == speech
    assert told(scene(used).share("vision")) == vision


def test_the_example_preempts_one_job_and_no_second() -> None:
    """One job of `vision` goes for the first; then shares are equal, and the next preempts no job."""
    played = scene({"vision": 50, "speech": 50}, speech=10)
    assert [name.partition("-")[0] for name in played.victims("new-speech")] == ["vision"]
    assert scene({"vision": 40, "speech": 60}, speech=10).victims("new-speech") == {}


@pytest.mark.parametrize("row", table("time"), ids=lambda row: row[0])
def test_usage_of_the_example(row: list[str]) -> None:
    """Eight CPUs for two hours and none for one, remembered with a half-life of one hour."""
    _, uses, remembered, rank = row
    history = UsageHistory(half_life=3600, sampling=300)
    consumed: dict[str, float] = {"cpu": 0.0}
    for used in (8.0, 8.0, 0.0)[: 1 + [r[0] for r in table("time")].index(row[0])]:
        consumed = history.decayed(consumed, {"cpu": used}, 3600)
    assert float(uses) == used
    assert f"{consumed['cpu']:g}" == remembered
    assert f"{history.rank(consumed, 2):g}" == rank


def test_the_penalty_of_the_example() -> None:
    """A job of 8 CPUs counts from its admission: by what a sample would add for it."""
    (penalty,) = UsageHistory(half_life=3600, sampling=300).penalty({"cpu": 8}).values()
    assert f"as {penalty:.2f} CPUs at once" in PAGE
