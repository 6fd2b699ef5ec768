"""Helm, asked about our charts: what they render, what it refuses, what it says (programs.py builds it)."""

import dataclasses
import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.charts.programs import program
from tests.house.sources import REPOSITORY
from tests.realkube.plane import NO_COLLECTION

CHARTS = REPOSITORY / "deploy" / "charts"
HUB, AGENT = "roadstead-hub", "roadstead-agent"
NAMES = (HUB, AGENT)
RUN_TIMEOUT_S = 60
_SHOWN = 'notes: |{{ include (print $.Template.BasePath "/NOTES.txt") . | nindent 2 }}'


class HelmError(Exception):
    """Helm refused; the text says why."""


@dataclasses.dataclass(frozen=True)
class Release:
    """One chart as it would be installed: `values` as in a values file."""

    chart: str
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    name: str = ""  # of the release; default: the chart's
    namespace: str = "roadstead"
    kubernetes: str = ""  # of the cluster that it is rendered for; default: Helm's own


@functools.cache
def _cached(*arguments: str, stdin: str) -> str:
    """The output of Helm for a chart of this tree: many tests render the same few examples."""
    return run(*arguments, stdin=stdin)


def run(*arguments: str, stdin: str = "") -> str:
    """What Helm prints. Raises HelmError with what it says where it refuses."""
    done = subprocess.run(
        [program("helm"), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
        env={**os.environ, **NO_COLLECTION},
    )
    if done.returncode:
        raise HelmError(f"{done.stdout}{done.stderr}".strip())
    return done.stdout


def template(release: Release, *, only: Sequence[str] = (), of: Path | None = None) -> str:
    """The text of all manifests, or of those of the templates `only`, in that order.

    `of`: a copy of the chart, taken in its place.
    """
    chart = of or CHARTS / release.chart
    arguments = ["template", release.name or release.chart, str(chart)]
    arguments += ["--namespace", release.namespace, "--values", "-"]
    if release.kubernetes:
        arguments += ["--kube-version", release.kubernetes]
    render = run if of else _cached
    values = yaml.safe_dump(release.values)
    if not only:
        return render(*arguments, stdin=values)
    shown = (("--show-only", f"templates/{name}") for name in only)
    return "".join(render(*arguments, *each, stdin=values) for each in shown)


def install(release: Release, kubeconfig: Path) -> str:
    """Install it, or bring it up to date, as people do; what Helm prints. Nothing is waited for."""
    arguments = [
        "upgrade",
        "--install",
        release.name or release.chart,
        str(CHARTS / release.chart),
    ]
    arguments += ["--namespace", release.namespace, "--create-namespace"]
    arguments += ["--kubeconfig", str(kubeconfig), "--values", "-"]
    return run(*arguments, stdin=yaml.safe_dump(release.values))


def uninstall(release: Release, kubeconfig: Path) -> str:
    """Take it away again; what Helm prints."""
    named = (release.name or release.chart, "--namespace", release.namespace)
    return run("uninstall", *named, "--kubeconfig", str(kubeconfig))


def notes(release: Release, folder: Path) -> str:
    """What Helm prints after an installation; `folder` takes a copy of the chart.

    `helm template` leaves them out: here a template of its own shows them.
    """
    copy = folder / release.chart
    shutil.copytree(CHARTS / release.chart, copy, dirs_exist_ok=True)
    (copy / "templates" / "shown.yaml").write_text(_SHOWN)
    shown = template(release, only=["shown.yaml"], of=copy)
    return str(yaml.safe_load(shown)["notes"])


def objects(release: Release) -> list[dict[str, Any]]:
    """All manifests, parsed."""
    return [each for each in yaml.load_all(template(release), yaml.CSafeLoader) if each]


def defaults(chart: str) -> dict[str, Any]:
    """The chart's own values."""
    found: dict[str, Any] = yaml.safe_load((CHARTS / chart / "values.yaml").read_text())
    return found
