"""Held against Kubernetes itself: answers of its own Go packages, release 1.36.3.

`quantities.json` are answers of apimachinery's resource.ParseQuantity (MilliValue, Value, Sign; null
where it refuses, or where the milli-value leaves 63 bits), `pod-requests.json` those of
component-helpers' PodRequests after limits were made default requests.
"""

import json
from pathlib import Path

import pytest

from shared import quantity
from shared.errors import Rejected
from shared.resources import pod_requests

HERE = Path(__file__).parent
QUANTITIES = json.loads((HERE / "quantities.json").read_text())
PODS = json.loads((HERE / "pod-requests.json").read_text())


def code_of(resource, text):
    with pytest.raises(Rejected) as refusal:
        quantity.parse(resource, text)
    return refusal.value.code


@pytest.mark.parametrize(("text", "known"), QUANTITIES.items())
def test_a_quantity_means_what_kubernetes_says(text, known):
    """Value and milli-value are those of resource.Quantity, and what it refuses is refused."""
    if known is None:
        assert code_of("memory", text) == "InvalidQuantity"
    elif known["sign"] < 0:
        assert code_of("memory", text) == "NegativeQuantity"
    else:
        assert quantity.parse("memory", text) == known["value"]
        if known["milli"] is None:
            assert code_of("cpu", text) == "QuantityTooLarge"
        else:
            assert quantity.parse("cpu", text) == known["milli"]


@pytest.mark.parametrize("case", PODS, ids=range(len(PODS)))
def test_a_pod_requests_what_kubernetes_says(case):
    """Whatever the mix of containers, sidecars, overhead and limits, the sum is Kubernetes' own.

    Kubernetes' function also takes pod-level requests below the containers, which its API refuses; here the
    containers count.
    """
    mine = {name: amount for name, amount in pod_requests(case["pod"]).items() if amount}
    containers = pod_requests({k: v for k, v in case["pod"].items() if k != "resources"})
    expected = {n: max(amount, containers.get(n, 0)) for n, amount in case["requests"].items()}
    assert mine == {name: amount for name, amount in expected.items() if amount}
