"""`/v1/tokens`: credentials of people: administrators, viewers and users."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.tokens import IssuedToken, NewToken, Person, PersonList
from hub.api.policy import ADMINISTRATOR, allow, caller, hub_of
from hub.api.reply import JsonResponse, listed
from hub.api.routing import new_router, refuses
from hub.services.access import people
from shared.reject_codes import RejectCode

router = new_router("tokens")


@router.get("/v1/tokens", response_model=PersonList)
@allow(ADMINISTRATOR)
async def list_tokens(request: Request) -> Response:
    """Holders of tokens: role and name; never the token."""
    return await listed(request, people.list_people)


@router.post("/v1/tokens", status_code=201, response_model=IssuedToken)
@allow(ADMINISTRATOR)
@refuses(RejectCode.ALREADY_EXISTS, RejectCode.FORBIDDEN)
async def issue_token(request: Request, given: NewToken) -> Response:
    """Issue a token: {"role": "administrator", "viewer" or "user", "name"}; revokes earlier ones.

    It is shown once. Role bindings give users their rights: `/v1/access/bindings`.
    """
    name = caller(request).name
    groups = given.groups or []
    made = await hub_of(request).write(people.issue, given.role, given.name, name, groups)
    return JsonResponse(made, 201)


@router.delete("/v1/tokens/{role}/{name}", response_model=Person)
@allow(ADMINISTRATOR)
@refuses(RejectCode.FORBIDDEN)
async def revoke_token(request: Request, role: str, name: str) -> Response:
    """Revoke a token; all hubs reject it within seconds."""
    return JsonResponse(
        await hub_of(request).write(people.revoke, role, name, caller(request).name)
    )
