"""Which resources are scarce parts of some nodes, and which only number what every node gives."""

import pytest

from hub.domain.devices import is_device
from hub.domain.fleet.clusters import pool
from hub.domain.fleet.free_capacity import Layout
from tests.domain.build import a_cluster


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("habana.ai/gaudi", True),
        ("intel.com/intel_sriov_netdevice", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("ephemeral-storage", False),
        ("vpc.amazonaws.com/pod-eni", False),
        ("vpc.amazonaws.com/PrivateIPv4Address", False),
        ("tke.cloud.tencent.com/eni-ip", False),
        ("devices.kubevirt.io/kvm", False),
        ("github.com/fuse", False),
        ("smarter-devices/fuse", False),
    ],
)
def test_what_is_a_device(resource: str, device: bool) -> None:
    """A `/` in its name, but for addresses of a cloud and character devices of the kernel."""
    assert is_device(resource) is device


def test_nodes_with_addresses_of_a_cloud_are_ordinary_nodes() -> None:
    """Work without devices need not leave them to others."""
    resources = ("cpu", "vpc.amazonaws.com/pod-eni")
    ordinary = a_cluster(pool({}, resources, {"n": ([4000, 9], [4000, 9])}), name="a")
    rows = {"n": ([4000, 9, 1], [4000, 9, 1])}
    gpus = a_cluster(pool({}, (*resources, "nvidia.com/gpu"), rows), name="b")
    layout = Layout([ordinary, gpus])
    assert dict(zip(layout.names, layout.all_devices.tolist(), strict=True)) == {
        "a": False,
        "b": True,
    }
