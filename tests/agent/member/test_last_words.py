"""Pods that have failed, told of while they are there: how many of a job are kept."""

import asyncio

import pytest

from agent.member.last_words import LastWords
from agent.objects.pod_reports import pod_told
from shared import labels
from shared.clock import ManualClock
from shared.wire.streams_v1 import MOST_FAILED
from tests import waiting

pytestmark = pytest.mark.anyio


def a_failed_pod(name):
    return {"metadata": {"name": name, "namespace": "team"}, "status": {"phase": "Failed"}}


async def test_the_newest_of_each_epoch_and_job_are_told():
    """A storm of one epoch leaves out its own oldest, and nothing of another's or of another job's."""
    words = LastWords(ManualClock(), logs=False)
    words.failed("other", 1, a_failed_pod("other"))
    for number in range(MOST_FAILED + 2):
        words.failed("u", 1, a_failed_pod(f"first{number}"))
    words.failed("u", 2, a_failed_pod("second"))
    told = []

    async def tell(some):
        told.extend(some)

    async def nobody():
        return None

    running = asyncio.create_task(words.run(nobody, tell))
    await waiting.eventually(lambda: told)
    running.cancel()
    names = [each.pod.name for each in told]
    assert names == ["other", *(f"first{n}" for n in range(2, MOST_FAILED + 2)), "second"]
    assert [each.pod.epoch for each in told][-2:] == [1, 2]


@pytest.mark.parametrize(
    ("label", "epoch"),
    [
        ("1", 1),
        (str(2**31), 2**31),
        ("2866071800002", 2866071800002),
        ("9" * 18, int("9" * 18)),
        ("9" * 20, 0),
        ("mine", 0),
    ],
)
def test_any_epoch_that_the_label_of_a_pod_says_can_be_reported(label, epoch):
    """An epoch after a restore is beyond 32 bits; a label that is no epoch counts as none."""
    pod = a_failed_pod("a")
    pod["metadata"]["labels"] = {labels.EPOCH: label}
    assert pod_told(pod, logs=True).epoch == epoch
    LastWords(ManualClock(), logs=True).failed("u", epoch, pod)
