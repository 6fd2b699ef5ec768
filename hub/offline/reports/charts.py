"""Charts as SVG text: steps over time, and bars. Nothing is loaded, nothing is scripted."""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 900
HEIGHT: Final = 260
_LEFT, _BOTTOM, _TOP, _RIGHT = 56, 28, 10, 12
_MOST_POINTS: Final = 800  # of one line; more than a screen shows
_COLORS: Final = (
    "#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e",
    "#e6ab02", "#a6761d", "#17becf", "#c44e52", "#4c72b0", "#7f7f7f",
)  # fmt: skip


class Series(NamedTuple):
    """One line: (seconds, value), in order of time; a value holds until the next."""

    name: str
    points: Sequence[tuple[float, float]]


def lines(several: Sequence[Series], end: float) -> str:
    """Steps over `end` seconds, with a legend."""
    most = max((y for each in several for _, y in each.points), default=0.0) or 1.0
    span = end or 1.0
    across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def place(at: float, value: float) -> tuple[float, float]:
        return _LEFT + across * min(1.0, at / span), _TOP + up * (1 - value / most)

    drawn = [_axes(most, span)]
    for number, each in enumerate(several):
        color = _COLORS[number % len(_COLORS)]
        path, last = [], place(0, 0)
        for at, value in _thinned(each.points, span):
            x, y = place(at, value)
            path.append(f"H{x:.1f}V{y:.1f}")
            last = x, y
        drawn.append(
            f'<path d="M{_LEFT} {_TOP + up}{"".join(path)}H{max(last[0], WIDTH - _RIGHT):.1f}" '
            f'fill="none" stroke="{color}" stroke-width="1.5"><title>{escape(each.name)}</title></path>'
        )
    return _svg(drawn, HEIGHT) + _legend([each.name for each in several])


def bars(values: Sequence[tuple[str, float]]) -> str:
    """Horizontal bars with their values."""
    most = max((v for _, v in values), default=0.0) or 1.0
    height, drawn = 26 * len(values) + 6, []
    for number, (name, value) in enumerate(values):
        y, long = 26 * number + 4, (WIDTH - 300) * value / most
        color = _COLORS[number % len(_COLORS)]
        drawn.append(
            f'<text x="0" y="{y + 14}">{escape(name)}</text>'
            f'<rect x="160" y="{y}" width="{max(1.0, long):.1f}" height="18" fill="{color}"/>'
            f'<text x="{168 + long:.1f}" y="{y + 14}">{value:g}</text>'
        )
    return _svg(drawn, height)


def _thinned(points: Sequence[tuple[float, float]], span: float) -> list[tuple[float, float]]:
    """At most two points per step of the width: the last of each, and its highest."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    kept: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        kept.setdefault(int(at / span * _MOST_POINTS / 2), []).append((at, value))
    thin = []
    for those in kept.values():
        highest = max(those, key=lambda p: p[1])
        thin += [highest, those[-1]] if highest is not those[-1] else [highest]
    return thin


def _axes(most: float, span: float) -> str:
    across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    drawn = []
    for part in range(5):
        y, x = _TOP + up * (1 - part / 4), _LEFT + across * part / 4
        drawn.append(
            f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="currentColor" opacity=".15"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{most * part / 4:g}</text>'
            f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{span * part / 4:.4g} s</text>'
        )
    return "".join(drawn)


def _legend(names: Sequence[str]) -> str:
    items = [
        f'<span style="white-space:nowrap"><span style="color:{_COLORS[n % len(_COLORS)]}">■</span> '
        f"{escape(name)}</span>"
        for n, name in enumerate(names)
    ]
    return f"<p>{' &nbsp; '.join(items)}</p>"


def _svg(parts: Sequence[str], height: int) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg" role="img">'
        + "".join(parts)
        + "</svg>"
    )
