"""The guide on real control planes: hub cluster and two members with RBAC on, kubectl throughout.

The hub runs beside them with the CRDs it installs itself, and the account, rights and admission policy
of `deploy/hub-cluster`; each member gets the queue kinds, and its agent the rights of `deploy/member`.
Those manifests are what the charts render (tests/charts), and with the charts the same story is told in
test_charts.py, on each change. The story ends where it ends on the embedded fleet.
"""

import pytest

from tests.e2e.running import until
from tests.realkube import guide
from tests.realkube.processes import (
    hub_and_agents,
    kubeconfig_by_script,
    prepare,
    protect,
    token_of_hub,
)

pytestmark = [pytest.mark.realkube, pytest.mark.soak, pytest.mark.timeout(400)]


def test_the_guide_runs_on_real_control_planes(real_fleet, tmp_path):
    """Applied with kubectl, both jobs go to the best cluster, complete, and the hub cluster says so."""
    planes = real_fleet(guide.MEMBERS)
    protect(planes.hub)
    prepare(planes)
    until(lambda: token_of_hub(planes.hub), 30, "its token is made")
    of_hub = kubeconfig_by_script(planes.hub, tmp_path / "hub.kubeconfig")
    with hub_and_agents(planes, tmp_path, hub_kubeconfig=of_hub) as hub:
        guide.typed(planes.hub, tmp_path)
        guide.ends_as_described(planes.hub, hub)
