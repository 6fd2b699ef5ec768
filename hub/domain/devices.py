"""Device resources: scarce resources of some nodes, which work without devices should leave free.

An extended resource has a `/` in its name. Most are devices (`nvidia.com/gpu`). Some only number what each
node gives to many pods at no cost: addresses and network interfaces of a cloud, character devices of the
kernel. Reports do not tell these apart, so they are listed here, by the domain that advertises them or by
what follows it. A node that has nothing but these is an ordinary node.
"""

from typing import Final

# Domains whose resources are addresses, network interfaces or attachments.
SHARED_DOMAINS: Final = frozenset(
    {
        "aliyun",  # aliyun/eni, aliyun/member-eni
        "bridge.network.kubevirt.io",
        "devices.kubevirt.io",  # kvm, tun, vhost-net, sev
        "macvtap.network.kubevirt.io",
        "networking.gke.io.networks",
        "ovs-cni.network.kubevirt.io",
        "tke.cloud.tencent.com",  # eni-ip, direct-eni
        "vke.volcengine.com",  # eni-ip
        "vpc.amazonaws.com",  # pod-eni, PrivateIPv4Address
    }
)
# Character devices of the kernel, whichever plugin advertises them: smarter-devices/fuse, github.com/fuse.
SHARED_NAMES: Final = frozenset(
    {"dev_fuse", "fuse", "kvm", "loop-control", "net_tun", "null", "random", "tun", "vhost-net"}
)


def is_device(resource: str) -> bool:
    """True if only some nodes have a resource and it is scarce there: `nvidia.com/gpu`."""
    domain, slash, name = resource.partition("/")
    return bool(slash) and domain not in SHARED_DOMAINS and name not in SHARED_NAMES
