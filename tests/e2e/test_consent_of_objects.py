"""Objects of a placement keep out of a namespace of a member's own people until it accepts the hub."""

import pytest

from tests.e2e.running import equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: shop}
"""


def test_a_placement_reaches_a_member_once_its_people_accept_the_hub(tmp_path):
    """Two of three get it, its condition names the command, and the command brings it to the third."""
    with running_fleet(tmp_path, equal_members(3), packed=True) as fleet, fleet.client() as hub:
        made = fleet.kubectl("create", "namespace", "shop", cluster="m3")
        assert made.returncode == 0, made.stderr
        applied = fleet.kubectl("apply", "-f", "-", stdin=OBJECTS)
        assert applied.returncode == 0, applied.stderr

        def color(member: str) -> str:
            found = fleet.find("configmaps.v1", "settings", "shop", cluster=member)
            return str(found["data"]["color"]) if found else ""

        def said() -> str:
            told = [
                each for each in hub.placement("shop").conditions if each.type == "NotAccepted"
            ]
            return told[0].message or "" if told else ""

        until(lambda: (color("m1"), color("m2")) == ("blue", "blue"), 60, "two members have it")
        message = until(said, 30, "the condition is there")
        assert 'Cluster "m3" was not picked' in message
        assert color("m3") == ""
        command = message[message.index("kubectl label") :].partition(";")[0].split()
        granted = fleet.kubectl(*command[1:5], cluster="m3")
        assert granted.returncode == 0, granted.stderr
        until(lambda: color("m3") == "blue", 60, "the third has it")
        until(lambda: not said(), 30, "the condition is gone")
