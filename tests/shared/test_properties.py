"""Names and values of cluster properties."""

import pytest

from shared import properties
from shared.errors import Rejected
from shared.kinds.names import is_property_name

CPU = "resources.kubernetes-fleet.io/available-"


def test_versions_are_compared_part_by_part() -> None:
    """1.30 is newer than 1.9; what a vendor adds does not count, and a missing patch is 0."""
    texts = ("1.9", "v1.29.11-gke.100", "1.30", "v1.30.2+k3s1", "2.0")
    numbers = [properties.number(properties.VERSION, text) for text in texts]
    assert numbers == sorted(set(numbers))
    assert properties.number(properties.VERSION, "v1.30.0") == numbers[2]


@pytest.mark.parametrize("text", ["", "1", "latest", "1.x", "1.30.1.2", "12345.1"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """It has a major and a minor part, and no part more than four digits."""
    with pytest.raises(Rejected):
        properties.number(properties.VERSION, text)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("price", True),
        ("example.com/price", True),
        ("kubernetes.azure.com/vm-sizes/Standard_D4s_v3/count", True),
        (CPU + "cpu", True),
        (CPU + "ephemeral-storage", True),
        (CPU + "nvidia.com/gpu", True),
        ("example.com//price", False),
        ("Example.com/a/b", False),
        ("example.com/a/b/", False),
        ("a b", False),
        ("", False),
        ("example.com/" + "/".join(["a" * 60] * 6), False),
    ],
)
def test_names_of_properties(name: str, may: bool) -> None:
    """A label key, with further names behind it where somebody counts by them; within 317 characters."""
    assert is_property_name(name) is may
