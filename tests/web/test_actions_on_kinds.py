"""Actions of the page on an object of another kind that runs as a job: those on a Job."""

import pytest

from tests.services.build import a_class
from tests.services.kinds.fleet import a_jobset
from tests.web.acting import look, offers, with_queues
from tests.web.pages import served_page

pytestmark = pytest.mark.anyio


async def test_an_object_of_another_kind_is_submitted_again_and_gets_another_priority(tmp_path):
    """A JobSet has all actions of a Job; its copy is a JobSet, too."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[a_jobset(queue="lq")])).json()[
            "items"
        ]
        uid, all_of_a_job = made["uid"], ["cancel", "hold", "priority", "resubmit", "delete"]
        assert await offers(http, f"jobs/{uid}") == all_of_a_job
        await hub.api.post("/v1/apply", json=a_class("high", 100))
        shown = await look(http, f"jobs/{uid}/priority?class=high")
        assert (await shown.press(http)).json()["priority"] == 100
        shown = await look(http, f"jobs/{uid}/resubmit")
        assert "kind: JobSet" in shown.words
        copy = (await shown.press(http)).json()
        assert (copy["kind"], copy["name"]) == ("JobSet", "sweep-r2")
