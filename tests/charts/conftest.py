"""What needs Helm is skipped where it has not been built."""

import pytest

from tests.charts import programs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder, with the reason."""
    if reason := programs.missing():
        for item in items:
            if "tests/charts/" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
