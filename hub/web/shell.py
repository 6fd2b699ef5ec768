"""Common parts of all pages: templates, static files, and the building of answers."""

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jinja2
import structlog
from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import hub_of
from hub.services.access.credentials import Principal
from hub.web.access import HEADERS, mark_of, own_path
from hub.web.board import Sight
from shared.documents import Json

_logger = structlog.get_logger(__name__)
_HERE: Final = Path(__file__).parent
_TYPES: Final = {
    "page.css": "text/css; charset=utf-8",
    "job.css": "text/css; charset=utf-8",
    "actions.css": "text/css; charset=utf-8",
    "fleet.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "job.js": "text/javascript; charset=utf-8",
    "actions.js": "text/javascript; charset=utf-8",
    "logs.js": "text/javascript; charset=utf-8",
    "login.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
_STATIC: Final = {name: (_HERE / "static" / name).read_bytes() for name in _TYPES}
# In the addresses of the files: a browser keeps each version permanently and never mixes two.
VERSION: Final = hashlib.sha256(b"".join(_STATIC.values())).hexdigest()[:12]
_KEEP: Final = {"Cache-Control": "max-age=31536000, immutable"}

templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# One name in a path, whatever it holds.
templates.filters["segment"] = lambda name: quote(str(name), safe="")


def html(template: str, status: int = 200, **values: object) -> Response:
    """A page, or a piece of one."""
    text = templates.get_template(template).render(version=VERSION, **values)
    return Response(text, status, HEADERS, "text/html")


def render_parts(
    folder: str,
    given: Mapping[str, Callable[[], Json]],
    shared: Json | None = None,
    called: Mapping[str, str] | None = None,
) -> tuple[Mapping[str, str], float]:
    """Each part of a page separately, and the processor time of all in s; an unreadable part shows a message.

    `given`: the arguments of the template `FOLDER/NAME.html`, besides `shared`; `called`: what a part
    is called in that sentence.
    """
    began = time.thread_time()
    parts: dict[str, str] = {}
    for name, values in given.items():
        try:
            parts[name] = templates.get_template(f"{folder}/{name}.html").render(
                **(shared or {}), **values()
            )
        except Exception:  # the other parts of the page stay
            _logger.exception("a part of a page can not be shown", part=name)
            what = (called or {}).get(name, name)
            parts[name] = templates.get_template(f"{folder}/fault.html").render(what=what)
    return parts, time.thread_time() - began


def login_page(
    request: Request, status: int = 200, *, wrong: str = "", said: str = "", to: str | None = None
) -> Response:
    """The way in. `wrong`: the fault of the token; `said`: why the provider's way led nowhere.

    It leads to `to`, and without it to the requested address.
    """
    provider = hub_of(request).sign_in.page
    if to is None:
        query = f"?{request.url.query}" if request.url.query else ""
        to = request.url.path + query
    to = own_path(to)
    if provider and to != "/":
        provider += f"?to={quote(to, safe='')}"
    return html("login.html", status, wrong=wrong, said=said, provider=provider, to=to)


def signed_in_page(
    request: Request, template: str, who: Principal, sight: Sight, stream: str, **values: object
) -> Response:
    """A page that extends `layout.html`: live by `stream`, with the mark of who is signed in."""
    return html(
        template, 200, who=who, sight=sight, stream=stream, mark=mark_of(request), **values
    )


def static_file(name: str, version: str) -> Response | None:
    """Style, script or sign; None where there is no such file. Cached permanently under its own version."""
    if name not in _STATIC:
        return None
    kept = _KEEP if version == VERSION else {}
    return Response(_STATIC[name], 200, {**HEADERS, **kept}, _TYPES[name])
