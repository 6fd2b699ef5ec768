"""Every test of the store runs on each database there is, but those that are about one of them alone."""

import pytest

from tests import databases


@pytest.fixture(autouse=True, params=[databases.SQLITE, databases.POSTGRES])
def store(request: pytest.FixtureRequest) -> str:
    """The database that `tests.databases.url_of` makes addresses for in this test."""
    kind: str = request.param
    only = request.node.get_closest_marker("store")
    if only is not None and kind not in only.args:
        pytest.skip(f"about {only.args[0]} alone")
    if kind == databases.POSTGRES and (reason := databases.postgres_is_missing()):
        pytest.skip(reason)
    databases.choose(kind)
    return kind
