"""How pods failed: which ends count, what outlasts the pods, and how long a failure waits for them."""

import pytest

from agent.objects.failures import ACCOUNT_S, MOST_PODS, MOST_TOLD, Failures, failures_of

ASKS = {"metadata": {"annotations": {"roadstead.dev/retry-on": "137"}}}


def a_pod(*, deleting=False, last=None, phase="Failed", reason="", conditions=(), code=None):
    ended = (
        {} if code is None else {"state": {"terminated": {"exitCode": code, "reason": "Error"}}}
    )
    before = {"lastState": {"terminated": {"exitCode": last}}} if last else {}
    return {
        "metadata": {"deletionTimestamp": "t"} if deleting else {},
        "status": {
            "phase": phase,
            **({"reason": reason} if reason else {}),
            "conditions": list(conditions),
            "containerStatuses": [{"name": "main", **ended, **before}],
        },
    }


def a_failed_job(failed, epoch=1):
    return {
        "metadata": {"labels": {"roadstead.dev/epoch": str(epoch)}},
        "status": {"failed": failed},
    }


DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        (a_pod(code=137), ("137/Error",)),
        (a_pod(code=0, phase="Succeeded"), ()),
        (a_pod(code=3, last=139), ("139/", "3/Error")),
        (a_pod(reason="Evicted"), ("/Evicted",)),
        (a_pod(code=143, deleting=True), ()),  # it was told to end
        (a_pod(code=143, last=9, deleting=True), ("9/",)),
        (a_pod(code=143, deleting=True, conditions=[DISRUPTED]), ("/DisruptionTarget",)),
    ],
)
def test_what_a_pod_came_to_by_itself_counts(pod, told):
    """An exit that its deletion brought about is none of the job's."""
    assert failures_of(pod) == told


def test_failures_are_of_one_epoch_and_outlast_their_pods():
    """Each way once, in bounds; a later epoch begins anew, an earlier one adds nothing."""
    known = Failures()
    for index in range(MOST_PODS + 5):
        known.note(1, f"p{index}", (f"{index % 40 + 1}/",))
    assert len(known.pods) == MOST_PODS
    assert len(known.told(1)) == MOST_TOLD
    known.note(2, "q", ("137/",))
    known.note(1, "p", ("1/",))
    assert (known.told(2), known.told(1)) == (["137/"], [])
    assert Failures().after(known).told(2) == ["137/"]


def test_a_failure_waits_for_the_pods_that_it_counts():
    """Until they are seen, or for ten seconds: then it is told as far as it is known."""
    known = Failures()
    known.note(1, "p", ("1/",))
    assert known.kept_until(a_failed_job(2), ASKS, 100.0, failed=2) == 100.0 + ACCOUNT_S
    assert known.kept_until(a_failed_job(2), ASKS, 105.0, failed=2) == 100.0 + ACCOUNT_S
    assert known.kept_until(a_failed_job(2), ASKS, 100.0 + ACCOUNT_S, failed=2) is None
    known.note(1, "q", ("137/",))
    assert known.kept_until(a_failed_job(2), ASKS, 106.0, failed=2) is None
    assert known.kept_until(a_failed_job(1, epoch=2), ASKS, 200.0, failed=1) == 200.0 + ACCOUNT_S
    assert known.kept_until(a_failed_job(9), {}, 300.0, failed=9) is None  # nobody asks


def test_each_epoch_has_its_own_time_to_be_accounted_for():
    """One whose pods were waited for in vain takes nothing of the time of the next, seen or not."""
    known = Failures()
    known.note(1, "p", ("1/",))
    assert known.kept_until(a_failed_job(2), ASKS, 100.0, failed=2) == 100.0 + ACCOUNT_S
    assert known.kept_until(a_failed_job(2), ASKS, 100.0 + ACCOUNT_S, failed=2) is None
    anew = Failures()
    anew.note(2, "q", ("137/",))
    assert (
        anew.after(known).kept_until(a_failed_job(2, epoch=2), ASKS, 200.0, failed=2)
        == 200.0 + ACCOUNT_S
    )
    assert known.kept_until(a_failed_job(1, epoch=2), ASKS, 300.0, failed=1) == 300.0 + ACCOUNT_S
    assert (
        Failures().after(known).kept_until(a_failed_job(1, epoch=2), ASKS, 301.0, failed=1)
        == 310.0
    )
