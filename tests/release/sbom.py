"""What the project is made of, as a CycloneDX document: written from the lock file.

Packages that an installed extra brings are `required`; those of development alone are `excluded`.
Licences are what the installed packages say of themselves. The same packages give the same text.
"""

import importlib.metadata
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tests.release import lock
from tests.release.lock import OURS, Locked

EXTRAS: Final = ("hub", "agent", "sim")
_CLASSIFIED: Final = {
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
}
_LONGEST_NAME: Final = 60  # some packages have the whole text in the place of the name


def document(requirements: Path, version: str) -> str:
    """The document of `requirements`/lock.txt as JSON, for the project at `version`."""
    locked = lock.read(requirements / "lock.txt")
    shipped = {name for extra in EXTRAS for name in lock.read(requirements / f"{extra}.txt")}
    bom = Bom()
    root = Component(name=OURS, version=version, type=ComponentType.APPLICATION, bom_ref=OURS)
    root.licenses = [LicenseFactory().make_from_string("Apache-2.0")]
    bom.metadata.component = root
    components = {
        name: _component(each, required=name in shipped) for name, each in locked.items()
    }
    bom.components = components.values()
    for name, component in {OURS: root, **components}.items():
        needs = [components[other] for other, each in locked.items() if name in each.asked_by]
        bom.register_dependency(component, needs)
    return _settled(bom)


def _component(package: Locked, *, required: bool) -> Component:
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{package.name}@{package.version}",
        purl=PackageURL("pypi", name=package.name, version=package.version),
        scope=ComponentScope.REQUIRED if required else ComponentScope.EXCLUDED,
        licenses=[LicenseFactory().make_from_string(text) for text in _licence(package.name)],
    )


def _licence(name: str) -> list[str]:
    """What an installed package says; nothing for one that this machine has no use for."""
    try:
        about = importlib.metadata.metadata(name).json
    except importlib.metadata.PackageNotFoundError:
        return []
    said = str(about.get("license_expression") or about.get("license") or "")
    classified = [_CLASSIFIED[each] for each in about.get("classifier", ()) if each in _CLASSIFIED]
    if not said or len(said) > _LONGEST_NAME or "\n" in said:
        return classified[:1]
    return [said]


def _settled(bom: Bom) -> str:
    """Without the moment and the chance of its making: its number is that of its content."""
    text: Mapping[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    plain = {key: value for key, value in text.items() if key != "serialNumber"}
    plain["metadata"].pop("timestamp")
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(plain, sort_keys=True))
    return json.dumps({**plain, "serialNumber": f"urn:uuid:{number}"}, indent=1) + "\n"
