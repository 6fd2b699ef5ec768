"""docs/reference/modules.md is the map that the code draws of itself."""

from tests.house import modules, sources


def test_the_map_is_what_the_docstrings_say() -> None:
    """Every package and module stands there with its sentence; `python -m tests.house.modules` writes it."""
    assert modules.PAGE.read_text() == modules.page()


def test_no_hall_has_more_than_fifteen_modules() -> None:
    """In services and domain a package that grows is divided."""
    halls = {
        str(package): len(list((sources.REPOSITORY / package).glob("*.py"))) - 1
        for package in modules.packages()
        if package.parts[:2] in {("hub", "services"), ("hub", "domain")}
    }
    assert {name: count for name, count in halls.items() if count > 15} == {}
