"""What runs out or is counted in the hub's own context: tokens of pages, incarnations, runs, rules."""

import base64
import dataclasses
import datetime as dt
import hmac
from typing import Any

import pytest

from hub.services.context import hub_cluster, timeline
from hub.services.context.decisions import told_growth
from hub.services.context.ids import generated_name
from hub.services.context.incarnations import began_ms, new_incarnation
from hub.services.context.paging import Pager
from hub.services.context.rendering import job, whole_job
from hub.services.context.rules import rules_of
from hub.services.context.settings import Queueing
from hub.store import leases, settings
from shared.errors import Rejected
from tests.store.build import START, a_workload, opened

pytestmark = pytest.mark.anyio
SECOND = dt.timedelta(seconds=1)
PAGER = Pager(b"key", "ana", {"path": "/v1/jobs"}, START, 60 * SECOND)


@pytest.mark.parametrize(
    ("after", "code"), [(59, None), (60, None), (60.5, "Expired"), (61, "Expired")]
)
def test_a_list_goes_on_for_as_long_as_it_is_kept(after, code):
    """To the last second; beyond it is told to start again."""
    later = dataclasses.replace(PAGER, now=START + after * SECOND)
    token = PAGER.token([1, "u"])
    if code is None:
        assert later.position(token) == [1, "u"]
    else:
        with pytest.raises(Rejected) as refused:
            later.position(token)
        assert refused.value.code == code


@pytest.mark.parametrize(
    "other", [{"principal": "eve"}, {"question": {"path": "/v1/queues"}}, {"key": b"x"}]
)
def test_a_token_of_another_list_is_refused(other):
    """Another caller, another question, another hub."""
    with pytest.raises(Rejected) as refused:
        dataclasses.replace(PAGER, **other).position(PAGER.token([1]))
    assert refused.value.code == "BadContinue"


def test_a_token_tells_nothing_of_its_position():
    """The row at which a page ends may be one that the caller may not see."""
    token = PAGER.token(["2026-03-01T12:00:00+00:00", "uid-of-another"])
    whole = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    assert not any(word in whole for word in (b"uid-of", b"2026", b"ana"))


def signed_as_before(key: bytes = b"key") -> str:
    """A token as the release before made it: a signature, then its position in clear."""
    body = b'[[1,"u"],4000000000,"ana","0"]'
    return base64.urlsafe_b64encode(hmac.digest(key, body, "sha256")[:16] + body).decode()


@pytest.mark.parametrize(
    "token", [signed_as_before(), "AAAA", "x", "é", "A" * 15, "A" * 16, "A" * 64, "A" * 5000]
)
def test_a_token_that_is_not_sealed_here_is_refused(token):
    """One of an earlier release, one cut short, one made up."""
    with pytest.raises(Rejected) as refused:
        PAGER.position(token)
    assert refused.value.code == "BadContinue"


def test_a_token_that_was_changed_is_refused():
    """Wherever: no character of it may be another."""
    token = PAGER.token([1, "u"])
    for at in range(0, len(token) - 1, 7):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(Rejected):
            PAGER.position(changed)


def test_an_incarnation_is_later_than_all_it_knows_of():
    """By a millisecond at least, also where the clock stands still or has gone back."""
    first = new_incarnation(START)
    for now in (START, START - 60 * SECOND):
        assert began_ms(new_incarnation(now, [first])) == began_ms(first) + 1
    late = new_incarnation(START + SECOND, [first, "of another form"])
    assert began_ms(late) == began_ms(first) + 1000


@pytest.mark.parametrize(
    ("before", "truncated"),
    [(timeline.MAX_RUNS - 1, False), (timeline.MAX_RUNS, True), (timeline.MAX_RUNS + 1, True)],
)
async def test_runs_beyond_those_kept_are_known_to_be_forgotten(tmp_path, before, truncated):
    """Just as many as are kept are all there were; once one was dropped, later starts know it too."""
    async with opened(tmp_path) as db:
        runs = [[f"r{n}", n] for n in range(before)]
        await db.write(lambda tx: settings.put(tx, "runs", runs))
        known = await db.write(lambda tx: timeline.begin(tx, "inc", b"key"))
        assert (len(known.runs), known.truncated) == (
            min(before + 1, timeline.MAX_RUNS),
            truncated,
        )
        await db.write(
            lambda tx: settings.put(tx, "runs", runs[:3])
        )  # by a release that keeps fewer
        known = await db.write(lambda tx: timeline.begin(tx, "inc", b"key"))
        assert (len(known.runs), known.truncated) == (4, truncated)


@pytest.mark.parametrize(
    ("given", "kept"), [("a" * 57, 57), ("a" * 58, 58), ("a" * 59, 58), ("", 0)]
)
def test_a_generated_name_keeps_58_characters_of_its_prefix(given, kept):
    """As Kubernetes cuts it, so that the whole is a label value."""
    assert len(generated_name(given)) == kept + 5


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((("x", 1),), "1 new node of pool x"),
        ((("x", 2),), "2 new nodes of pool x"),
        ((("x", 1), ("y", 3)), "1 new node of pool x and 3 new nodes of pool y"),
    ],
)
def test_new_nodes_are_told_pool_by_pool(nodes, said):
    """One node is a node, several are nodes."""
    assert told_growth(nodes) == said


def test_limits_of_preemption_are_what_was_set():
    """0 victims is no limit; a minimum runtime counts in parts of seconds."""
    none = rules_of(Queueing(), START).limits
    assert (none.budget, none.minimum_runtime) == (None, 0)
    some = rules_of(Queueing(max_preempted_workloads=1, minimum_runtime_s=0.25), START).limits
    assert (some.budget, some.minimum_runtime) == (1, 250_000)


@pytest.mark.parametrize(
    ("asked", "lifted"), [("TooManyDeletions", True), ("HubClusterChanged", False)]
)
async def test_a_word_lifts_the_stop_that_it_names(tmp_path, asked, lifted):
    """And no other, for which it is used up all the same."""
    async with opened(tmp_path) as db:
        term = await db.write(lambda tx: leases.seize(tx, "test", SECOND))
        await db.write(lambda tx: settings.put(tx, hub_cluster.LIFT, "TooManyDeletions"))
        assert await db.write(lambda tx: hub_cluster.take_lift(tx, term, asked)) is lifted
        assert not await db.read(hub_cluster.is_lifted)


def test_each_time_of_a_job_is_shown_as_its_own():
    """Eight instants that all differ, under the names of their fields; what is not yet is null."""
    shown = {
        "created_at": "createdAt", "queued_at": "queuedAt", "placed_at": "placedAt",
        "applied_at": "appliedAt", "started_at": "startedAt", "pods_ready_at": "podsReadyAt",
        "requeue_at": "requeueAt", "finished_at": "finishedAt", "deleted_at": "deletedAt",
    }  # fmt: skip
    times: dict[str, Any] = {name: START + n * SECOND for n, name in enumerate(shown)}
    told = whole_job(a_workload("j", **times), {}, [])
    assert [told[field] for field in shown.values()] == [
        f"2026-03-01T12:00:0{n}Z" for n in range(9)
    ]
    bare = whole_job(a_workload("j"), {}, [])
    assert [field for field in shown.values() if bare[field]] == ["createdAt", "queuedAt"]


def test_each_count_of_a_job_is_shown_as_its_own():
    """Pods by what they do, wishes and limits: numbers that all differ."""
    row = a_workload(
        "j", active=1, ready=2, succeeded=3, failed=4, parallelism=5, completions=6, priority=-7,
        requeues=8, max_runtime_s=9, ran_s=10, generation=11, epoch=12,
    )  # fmt: skip
    told = whole_job(row, {}, [])
    assert told["counts"] == {"active": 1, "ready": 2, "succeeded": 3, "failed": 4}
    names = (
        "parallelism",
        "completions",
        "priority",
        "requeues",
        "maxRuntimeSeconds",
        "ranSeconds",
        "generation",
        "epoch",
    )
    assert [told[name] for name in names] == [5, 6, -7, 8, 9, 10, 11, 12]
    listed = job(row)
    assert listed.pop("requests") is None  # told where the pod sets were read
    assert listed == {name: told[name] for name in listed}
