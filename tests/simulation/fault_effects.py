"""What each kind of fault does to a fleet. `until`: the instant at which it is over."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shared import labels
from tests.simulation import bursts, consents, queue_acts, rights
from tests.simulation.agent_io import HUB_ID
from tests.simulation.checks import OLDER
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.member import Member
    from tests.simulation.scenario import Run

Does = Callable[["Run", Fault, float], None]


def _switch(name: str) -> Does:
    """Something of a cluster's network that lasts."""

    def turn(run: "Run", fault: Fault, until: float) -> None:
        setattr(run.hub.networks[fault.where], name, until)

    return turn


def _deaf(*kinds: str) -> Does:
    def turn(run: "Run", fault: Fault, until: float) -> None:
        for kind in kinds:
            run.hub.networks[fault.where].deaf[kind] = until

    return turn


def _a_reply_late(run: "Run", fault: Fault, _until: float) -> None:
    run.hub.networks[fault.where].next_reply_late = True


def _relist(run: "Run", fault: Fault, _until: float) -> None:
    for agent in run.living(fault.where):
        agent.eyes.break_off("Job" if fault.draw < 0.6 else "Pod")


def _controllers_down(run: "Run", fault: Fault, until: float) -> None:
    run.members[fault.where].controllers_from = until


def _lost(run: "Run", fault: Fault, until: float) -> None:
    """Nothing is heard of a cluster for minutes; what is there goes on."""
    run.hub.networks[fault.where].cut_until = until


def _destroyed(run: "Run", fault: Fault, _until: float) -> None:
    """A cluster is gone, with all that it held; some time later somebody writes it off."""
    network = run.hub.networks[fault.where]
    network.destroyed = True
    for agent in run.living(fault.where):
        agent.die()
    run.members[fault.where].destroy()
    run.write_off_in(fault.seconds, fault.where)


def _consent_withdrawn(run: "Run", fault: Fault, _until: float) -> None:
    """People of a member withdraw their consent, and give it again some time later."""
    consents.withdraw(run, fault.where, fault.seconds)


# --- processes -----------------------------------------------------------------------------------


def _agent_dies(run: "Run", fault: Fault, _until: float) -> None:
    for agent in run.living(fault.where):
        agent.die()
    run.world.after(fault.seconds, run.ensure_agent, fault.where)


def _agent_dies_in_a_call(run: "Run", fault: Fault, _until: float) -> None:
    for agent in run.living(fault.where):
        agent.calls_left = int(fault.draw * 4)
        agent.dies_when = ("before", "sent", "answered")[int(fault.draw * 97) % 3]
    run.world.after(10.0 + fault.seconds, run.ensure_agent, fault.where)


def _second_agent(run: "Run", fault: Fault, until: float) -> None:
    """Another with the same credential; the first may not hear of it for a while, and may be slow."""
    fate = int(fault.draw * 8)
    for agent in run.living(fault.where):
        if fate != 7:
            agent.cut_until = until
        agent.slow_until = until if fate > 2 else 0.0
    run.start_agent(fault.where, 0.95 + 0.1 * fault.draw)


def _slow_agent(run: "Run", fault: Fault, until: float) -> None:
    for agent in run.living(fault.where):
        agent.slow_until = until


def _hub_dies(run: "Run", fault: Fault, _until: float) -> None:
    run.hub.die()
    run.world.after(fault.seconds, run.ensure_hub)


def _hub_dies_in_a_request(run: "Run", _fault: Fault, _until: float) -> None:
    run.hub.dies_in_request = True


# --- people, in a member -------------------------------------------------------------------------


def _one_of(member: "Member", draw: float) -> str:
    """The name of one of our Jobs; "" where there is none."""
    ours = sorted(name for name, job in member.jobs.items() if job["metadata"].get("labels"))
    return ours[int(draw * 1000) % len(ours)] if ours else ""


def _drain(run: "Run", fault: Fault, _until: float) -> None:
    run.members[fault.where].drain()


def _deleted_by_hand(run: "Run", fault: Fault, _until: float) -> None:
    member = run.members[fault.where]
    name = _one_of(member, fault.draw)
    if name:
        policy = ("Background", "Background", "Background", "Foreground", "Orphan")
        member.delete(name, None, None, policy[int(fault.draw * 5)], by_hand=True)


def _torn_out(run: "Run", fault: Fault, _until: float) -> None:
    """Its finalizers are taken off, and it is deleted: nothing of it is left to be read."""
    member = run.members[fault.where]
    name = _one_of(member, fault.draw)
    if name:
        member.tear_out(name)


def _replaced(run: "Run", fault: Fault, _until: float) -> None:
    """In one go it is torn out, and its name is given to something that is not ours."""
    member = run.members[fault.where]
    name = _one_of(member, fault.draw)
    if name and not run.strangers:
        member.tear_out(name)
        member.create(a_stranger(name))
        run.strangers.append((member.name, name))


def _copied(run: "Run", fault: Fault, _until: float) -> None:
    """Somebody applies a Job of ours that the hub does not know; once it is to go, an older hub's."""
    member = run.members[fault.where]
    if "x" in member.jobs:
        return
    member.create(a_copy(run.hub.sync.incarnation))

    def older(where: str) -> None:
        if where == member.name and "x" in member.jobs:
            member.tear_out("x")
            member.create(a_copy(OLDER))

    run.world.on("ordered", 1, older)


def a_stranger(name: str) -> dict[str, Any]:
    """A Job that is none of ours."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "n", "labels": {}},
        "spec": {"parallelism": 1, "completions": 1, "suspend": True},
    }


def a_copy(incarnation: str) -> dict[str, Any]:
    """A Job that carries our labels, of a uid that the hub does not know."""
    job = a_stranger("x")
    job["metadata"]["labels"] = {
        labels.MANAGED_BY: HUB_ID,
        labels.JOB_UID: "x",
        labels.EPOCH: "1",
    }
    job["metadata"]["annotations"] = {labels.INCARNATION: incarnation}
    return job


BEFALLS: dict[str, Does] = {
    "lost": _lost,
    "destroyed": _destroyed,
    "consent withdrawn": _consent_withdrawn,
    **dict.fromkeys(queue_acts.ACTS, queue_acts.befall),
    **dict.fromkeys(rights.VERBS, rights.befall),
    bursts.KIND: bursts.befall,
    "hang": _switch("hangs_until"),
    "cut": _switch("cut_until"),
    "replies lost": _switch("replies_lost_until"),
    "a reply late": _a_reply_late,
    "requests doubled": _switch("doubled_until"),
    "refused": _switch("refused_until"),
    "deaf": _deaf("Job", "Pod"),
    "deaf jobs": _deaf("Job"),
    "deaf pods": _deaf("Pod"),
    "relist": _relist,
    "controllers down": _controllers_down,
    "agent dies": _agent_dies,
    "agent dies in a call": _agent_dies_in_a_call,
    "second agent": _second_agent,
    "slow agent": _slow_agent,
    "hub dies": _hub_dies,
    "hub dies in a request": _hub_dies_in_a_request,
    "drain": _drain,
    "deleted by hand": _deleted_by_hand,
    "torn out": _torn_out,
    "replaced": _replaced,
    "copied": _copied,
}
