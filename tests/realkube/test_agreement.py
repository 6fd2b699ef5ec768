"""The simulated cluster answers kubectl as a real API server does, word for word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.realkube import agreement, build, plane
from tests.realkube.stories import STORIES

pytestmark = [
    pytest.mark.realkube,
    pytest.mark.kubectl,
    pytest.mark.timeout(300),
    pytest.mark.kube_from("1.36", "the simulated cluster has the words of 1.36"),
]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[agreement.Cluster]:
    """A simulated cluster with the nodes of the real one."""
    pools = plane.equal_members(1)[0]["pools"]
    with agreement.simulated(tmp_path_factory.mktemp("sim"), pools) as cluster:
        yield cluster


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_both_clusters_give_the_same_answers(
    story: agreement.Story,
    simulated: agreement.Cluster,
    real_control_plane: plane.Plane,
    tmp_path: Path,
) -> None:
    """A story typed into the simulated and the real cluster gives equal transcripts."""
    real = agreement.Cluster(real_control_plane.kubeconfig, build.programs().kubectl)
    expected = real.tell(story, tmp_path)
    different = agreement.difference(expected, simulated.tell(story, tmp_path))
    assert not different, different
