"""`/docs`: the API's description to read and to try, from files that are installed with the hub.

Swagger UI's own files come with fastapi-offline; nothing is fetched from elsewhere, and the page starts it
by a script of ours, so that no inline script has to be allowed. It is as public as the description: to try
a route, a person enters a token, which stays in the page.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import PUBLIC, allow
from hub.api.routing import new_router
from hub.web.access import HEADERS
from hub.web.shell import templates
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_SWAGGER: Final = Path(str(files("fastapi_offline"))) / "static"
_OWN: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    _SWAGGER / "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    _SWAGGER / "swagger-ui.css": "text/css; charset=utf-8",
    _OWN / "reference.js": "text/javascript; charset=utf-8",
}
_FILES: Final = {path.name: (path.read_bytes(), media_type) for path, media_type in _TYPES.items()}
# Swagger UI writes styles into its elements and has its pictures in its style sheet.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {**HEADERS, "Content-Security-Policy": _POLICY}
_KEEP: Final = {"Cache-Control": "max-age=3600"}
router = new_router("page")


@router.get("/docs", include_in_schema=False)
@allow(PUBLIC)
async def show_reference(request: Request) -> Response:
    """The page."""
    return Response(templates.get_template("reference.html").render(), 200, _HEADERS, "text/html")


@router.get("/docs/{name}", include_in_schema=False)
@allow(PUBLIC)
async def read_reference_file(request: Request, name: str) -> Response:
    """One of its files."""
    if name not in _FILES:
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")
    content, media_type = _FILES[name]
    return Response(content, 200, {**_HEADERS, **_KEEP}, media_type)
