"""What others publish: both doors take what Kueue and KubeFleet take, and refuse what they refuse."""

from pathlib import Path

import pytest

from tests.compat.measure import TAKEN as NOTHING_AGAINST_IT, by_kubectl, by_rest
from tests.compat.shapes import REFUSED, STORED_BY_REST, TAKEN

pytestmark = pytest.mark.anyio


async def test_rest_takes_the_shapes_of_others(tmp_path: Path):
    """A manifest that Kueue or KubeFleet takes is taken as it is."""
    said = await by_rest(list(TAKEN.values()), tmp_path)
    assert dict(zip(TAKEN, said, strict=True)) == dict.fromkeys(TAKEN, NOTHING_AGAINST_IT)


@pytest.mark.kubectl
async def test_the_hub_cluster_takes_the_shapes_of_others(tmp_path: Path):
    """kubectl, the API server and the bridge have nothing against what REST takes."""
    said = await by_kubectl(list(TAKEN.values()), tmp_path)
    assert dict(zip(TAKEN, said, strict=True)) == dict.fromkeys(TAKEN, NOTHING_AGAINST_IT)


@pytest.mark.parametrize("shape", REFUSED)
async def test_rest_refuses_what_they_refuse(tmp_path: Path, shape: str):
    """With the field, or with the versions that there are."""
    document, reason = REFUSED[shape]
    (said,) = await by_rest([document], tmp_path)
    assert said.startswith(reason)


@pytest.mark.kubectl
async def test_the_hub_cluster_refuses_what_rest_refuses(tmp_path: Path):
    """What is wrong at one door is wrong at the other, at once or in a Warning."""
    said = await by_kubectl([document for document, _ in REFUSED.values()], tmp_path)
    assert NOTHING_AGAINST_IT not in said, dict(zip(REFUSED, said, strict=True))


async def test_rest_keeps_kinds_that_change_nothing(tmp_path: Path):
    """An example of several kinds can be applied whole; a warning says which of them have no effect."""
    said = await by_rest(list(STORED_BY_REST.values()), tmp_path)
    assert set(said) == {NOTHING_AGAINST_IT}


@pytest.mark.kubectl
async def test_the_hub_cluster_names_kinds_that_it_does_not_serve(tmp_path: Path):
    """kubectl says which kind in which version there is none of."""
    said = await by_kubectl(list(STORED_BY_REST.values()), tmp_path)
    for document, sentence in zip(STORED_BY_REST.values(), said, strict=True):
        kind, version = document["kind"], document["apiVersion"]
        assert sentence == f'no matches for kind "{kind}" in version "{version}"'
