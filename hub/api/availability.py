"""`/v1/availability-rules`: when objects of custom kinds are available, for all members."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.availability import AvailabilityRules, DeclaredRules
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router
from hub.services.works import declared_rules
from shared.kinds.declared_availability import check

router = new_router("fleet")


@router.get("/v1/availability-rules", response_model=AvailabilityRules)
@allow(ADMINISTRATOR, VIEWER)
async def get_availability_rules(request: Request) -> Response:
    """Availability rules for custom resources: declared and built-in ones."""
    return JsonResponse(await hub_of(request).read(declared_rules.show))


@router.put("/v1/availability-rules", response_model=AvailabilityRules)
@allow(ADMINISTRATOR)
async def declare_availability_rules(request: Request, given: DeclaredRules) -> Response:
    """Replace all declared rules; rejected as a whole, with the field, if one is not an expression."""
    rules = [each.model_dump() for each in given.rules]
    await asyncio.to_thread(check, rules)  # compiled once, and not while others wait to write
    name = caller(request).name
    return JsonResponse(await hub_of(request).write(declared_rules.declare, rules, name))
