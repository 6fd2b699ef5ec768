"""A job that a member's own rules forbid: it goes elsewhere, or waits with that reason."""

from pathlib import Path

import pytest

from hub.services.explain import study
from hub.services.jobs import hold
from hub.services.members.judge import judge
from hub.store import clusters, works
from hub.store.transaction import Transaction
from shared.wire.agent_v1 import Observed
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio
WORDS = "PolicyViolation: spec.template.spec.hostNetwork: baseline/hostNamespaces: no"


async def refuse(
    hub: Running, uid: str, epoch: int = 1, reason: str = "RefusedByMember", words: str = WORDS
) -> None:
    """The agent of the job's cluster refuses it, and confirms that nothing of it is there."""
    cluster = (await hub.job(uid)).cluster
    await hub.transition("offer", uid)
    entry = Observed(
        uid=uid, epoch=epoch, generation=1, seq=1, phase="Failed",
        reason=reason, message=words,
    )  # fmt: skip
    standing = (await hub.hub.read(works.standing, cluster, [uid]))[uid]
    verdict = judge(entry, standing, cluster, hub.clock.now())
    assert (verdict.transition, verdict.action) == ("withdraw", "Withdraw")
    await hub.transition("withdraw", uid, **verdict.columns)
    gone = entry.model_copy(update={"phase": "Gone"})
    standing = (await hub.hub.read(works.standing, cluster, [uid]))[uid]
    verdict = judge(gone, standing, cluster, hub.clock.now())
    await hub.transition(verdict.transition, uid, **verdict.columns)


async def test_another_member_may_take_it(tmp_path: Path) -> None:
    """What one member refuses goes to another that fits."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4", memory="8Gi"))
        await hub.cluster("b", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        first = (await hub.job(uid)).cluster
        await refuse(hub, uid)
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, {first, job.cluster}) == ("Placed", {"a", "b"})


async def test_where_nobody_else_fits_it_waits_and_says_why(tmp_path: Path) -> None:
    """The job's reason names the member, the field and the rule; the same member is not asked again."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid)
        for _ in range(3):
            await hub.settle()
            job = await hub.job(uid)
            assert (job.state, job.reason) == ("Pending", "RefusedByMember")
            assert job.message == f"north: {WORDS}"
            hub.clock.advance(86_400 * 30)
        told = await hub.explain(uid)
        assert (told["reason"], told["message"]) == (job.reason, job.message)
        (verdict,) = told["waiting"]["clusters"]
        assert verdict["reason"] == "RefusedByMember"


async def test_released_by_a_person_it_is_tried_again(tmp_path: Path) -> None:
    """Once the member's administrator has opened it, hold and release let the job go there."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid)
        await hub.settle()
        await hub.hub.write(hold.hold_job, uid, "ada")
        await hub.hub.write(hold.release_job, uid, "ada")
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "north")


async def test_a_release_of_the_job_that_waits_is_enough(tmp_path: Path) -> None:
    """The job no longer avoids the member, and goes there."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid)
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        await hub.hub.write(hold.release_job, uid, "ada")
        assert (await hub.explain(uid))["setAside"] == {}
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "north")


async def test_where_pods_get_no_token_the_way_out_names_the_cluster(tmp_path: Path) -> None:
    """Its people set a label there; then the job goes there again without a person's release."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid, reason="TokenNotAllowed", words="spec.x: no token")
        await hub.settle()
        told = await study.explain(hub.hub, uid, lambda: hub.scheduler.index)
        assert (told["reason"], told["message"]) == ("TokenNotAllowed", "north: spec.x: no token")
        (remedy,) = told["remedies"]
        assert "the people of north allow with a kubeconfig of that cluster" in remedy["message"]
        assert (
            "kubectl label namespace team-a roadstead.dev/accept-tokens=true" in remedy["message"]
        )
        hub.clock.advance(31)
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "north")


async def test_for_good_is_no_date(tmp_path: Path) -> None:
    """Until a person releases it: null for programs, and no year 9999 for anybody."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid)
        await hub.settle()
        told = await hub.explain(uid)
        assert told["setAside"] == {"north": None}
        assert "9999" not in str(told)


async def test_a_name_that_is_taken_everywhere_is_said_with_the_way_out(tmp_path: Path) -> None:
    """The reason is NameConflict; time is not offered as a remedy, for it would collide again."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await refuse(hub, uid, reason="NameConflict", words="an object of this name is there")
        await hub.settle()
        told = await study.explain(hub.hub, uid, lambda: hub.scheduler.index)
        assert told["reason"] == "NameConflict"
        assert told["message"] == "north: an object of this name is there"
        (verdict,) = told["waiting"]["clusters"]
        assert verdict["message"].startswith("an object of this name is there (tried before")
        kinds = [each["kind"] for each in told["remedies"]]
        assert "SetAside" not in kinds
        assert "delete the Job team-a/one there" in told["remedies"][0]["message"]


async def test_where_only_a_member_that_refuses_it_is_large_enough_that_is_the_reason(
    tmp_path: Path,
) -> None:
    """Others are too small; the job still says which member refused it, and by which rule."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="4", memory="8Gi"))
        await hub.cluster("small", a_pool(cpu="1", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one", requests={"cpu": "2"}))
        await hub.settle()
        await refuse(hub, uid)
        await hub.settle()
        job = await hub.job(uid)
        assert (job.reason, job.message) == ("RefusedByMember", f"north: {WORDS}")
        told = await hub.explain(uid)
        assert (told["reason"], told["message"]) == (job.reason, job.message)


async def test_the_headline_names_the_member_whose_rule_decides(tmp_path: Path) -> None:
    """Of four members that may not take it, the one whose nodes would hold it comes first."""
    async with running(tmp_path) as hub:
        for name in ("a", "b", "c", "z"):
            await hub.cluster(name, a_pool(cpu="8" if name == "z" else "1", memory="8Gi"))
            await hub.hub.write(cordon, name)
        (uid,) = await hub.apply(a_job("one", requests={"cpu": "4"}))
        await hub.settle()
        assert "none of 4 clusters may take it: z: " in (await hub.job(uid)).message


def cordon(tx: Transaction, name: str) -> None:
    """Cordon a member."""
    clusters.change(tx, name, cordoned=True)
