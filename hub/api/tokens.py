"""`/v1/tokens`: credentials of people, administrators and viewers."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, allow, caller, hub_of, new_router
from hub.api.reply import Json, read_object
from hub.services.access import people

router = new_router()
_ASKED = {"role": str, "name": str}


@router.get("/v1/tokens")
@allow(ADMINISTRATOR)
async def list_tokens(request: Request) -> Response:
    """Who holds a token: role and name; never the token."""
    return Json(await hub_of(request).read(people.list_people))


@router.post("/v1/tokens", status_code=201)
@allow(ADMINISTRATOR)
async def issue_token(request: Request) -> Response:
    """A token for a person: {"role": "administrator" or "viewer", "name"}; shown once, earlier ones end."""
    given = await read_object(request, _ASKED)
    made = await hub_of(request).write(
        people.issue, given.get("role", ""), given.get("name", ""), caller(request).name
    )
    return Json(made, 201)


@router.delete("/v1/tokens/{role}/{name}")
@allow(ADMINISTRATOR)
async def revoke_token(request: Request, role: str, name: str) -> Response:
    """Forget a person; the token ends within seconds everywhere."""
    return Json(await hub_of(request).write(people.revoke, role, name, caller(request).name))
