"""Values of environment variables in what an agent tells: whole, side by side, and cut."""

import pytest
from hypothesis import given, strategies as st

from hub.services.live import shown
from hub.services.live.shown import Hiding
from shared.secrecy import HIDDEN
from shared.wire.streams_v1 import ContainerTold, EventTold, LogLine, PodTold

LONG = "x" * 300
SECRET = "s3cr3t-value-of-ana"


@pytest.mark.parametrize(
    ("values", "text", "shown"),
    [
        ([SECRET], f"it is {SECRET}.", f"it is {HIDDEN}."),
        (["abcd1234", "1234wxyz"], "abcd1234wxyz", HIDDEN),
        (["abc", "abcdef"], "abcdef abc", f"{HIDDEN} {HIDDEN}"),
        (["aa"], "aaa", HIDDEN),
        ([], SECRET, SECRET),
        (["", SECRET], "plain", "plain"),
    ],
)
def test_values_are_hidden_wherever_they_are(values, text, shown):
    """The longest at each place; those that overlap are one."""
    assert Hiding(values)(text) == shown


SAYS = f"it says {SECRET}"


@pytest.mark.parametrize(
    "told",
    [
        lambda hiding: shown.record(
            LogLine(pod="p", container="c", line=SAYS), hiding, timestamps=True
        ),
        lambda hiding: shown.record(
            LogLine(pod="p", container="c", line=SAYS[:-4], cut=True), hiding, timestamps=False
        ),
        lambda hiding: shown.record(
            LogLine(pod="p", container="c", line=SAYS, note=True), hiding, timestamps=False
        ),
        lambda hiding: shown.pod(PodTold(name="p", message=SAYS), hiding),
        lambda hiding: shown.pod(
            PodTold(name="p", containers=[ContainerTold(name="c", message=SAYS)]), hiding
        ),
        lambda hiding: shown.event(EventTold(message=SAYS), hiding),
    ],
    ids=["line", "cut line", "note", "pod", "container", "event"],
)
def test_no_text_that_containers_or_the_kubelet_write_tells_a_value(told):
    """Every text field is redacted, including a partial value at the end of a cut line."""
    text = str(told(Hiding([SECRET])))
    assert SECRET[:6] not in text
    assert HIDDEN in text


@pytest.mark.parametrize("kept", range(4, len(SECRET)))
def test_what_is_left_of_a_value_at_the_edge_of_a_cut_text_is_hidden(kept):
    """An agent and Kubernetes cut long messages: the rest of a value is told as little as a whole one."""
    hiding = Hiding([SECRET])
    assert hiding(f"{LONG} {SECRET[:kept]}") == f"{LONG} {HIDDEN}"
    assert hiding(f"{SECRET[-kept:]} {LONG}") == f"{HIDDEN} {LONG}"


def test_short_text_is_cut_where_its_agent_says_so():
    """A line has a flag; other short texts are whole."""
    assert Hiding([SECRET])("log: s3cr", cut=True) == f"log: {HIDDEN}"
    assert Hiding([SECRET])("log: s3cr") == "log: s3cr"


@given(st.lists(st.text("ab", min_size=1, max_size=6), max_size=3), st.text("ab", max_size=40))
def test_no_value_is_left(values, text):
    """Whatever the values and the text: nothing of a value that was there whole is shown."""
    shown = Hiding(values)(text)
    for part in shown.split(HIDDEN):
        assert not any(value in part for value in values)
