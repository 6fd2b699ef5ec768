"""The index of room on nodes, held against the plain rule it speeds up."""

from typing import Any

from hypothesis import given, strategies as st

from shared.kubesim.scheduler.fitting import Room, Rooms, lacking, static_fault
from shared.resources import pod_set_of

CPU = st.integers(0, 8)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("place"), CPU, st.booleans()),
        st.tuples(st.just("end"), st.integers(0, 30), st.booleans()),
        st.tuples(st.just("node"), st.integers(0, 4), st.booleans()),
        st.tuples(st.just("drop"), st.integers(0, 4), st.booleans()),
    ),
    max_size=40,
)


def a_shape(cpu, *, picky):
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]
    }
    if picky:
        spec["nodeSelector"] = {"even": "yes"}
    return pod_set_of("", 1, {"spec": spec})


def a_room(number, *, tainted):
    labels = {"even": "yes"} if number % 2 == 0 else {}
    taints = [{"key": "x", "effect": "NoSchedule"}] if tainted else []
    return Room(f"n-{number}", labels, taints, {"cpu": 8000, "pods": 3})


class Model:
    """The nodes, and what pods hold, as plain dicts."""

    def __init__(self):
        self.rooms = {}
        self.held = {}

    def free(self, name):
        free = dict(self.rooms[name].allocatable)
        for node, requests in self.held.values():
            if node == name:
                for resource, amount in requests.items():
                    free[resource] -= amount
        return free

    def best(self, shape):
        fitting = []
        for name, room in self.rooms.items():
            free = self.free(name)
            if static_fault(shape, room) or lacking(shape.requests, free):
                continue
            shares = [(free[r] - a) / room.allocatable[r] for r, a in shape.requests.items() if a]
            shares.append((free["pods"] - 1) / room.allocatable["pods"])
            fitting.append((-sum(shares) / len(shares), name))
        return min(fitting)[1] if fitting else None


@given(ACTIONS)
def test_the_index_finds_what_looking_at_every_node_finds(actions):
    """Whatever came and went, the best node is the one that a full search finds; none is overfull."""
    rooms, model = Rooms(), Model()
    for number, (action, value, flag) in enumerate(actions):
        if action == "place":
            shape = a_shape(value, picky=flag)
            node = rooms.best(shape)
            assert node == model.best(shape)
            if node is not None:
                requests = {**shape.requests, "pods": 1}
                rooms.hold(f"pod-{number}", node, requests)
                model.held[f"pod-{number}"] = (node, requests)
                assert min(model.free(node).values()) >= 0
        elif action == "end":
            assert rooms.release(f"pod-{value}") == (
                model.held.pop(f"pod-{value}", None) is not None
            )
        elif action == "node":
            rooms.put(a_room(value, tainted=flag))
            model.rooms[f"n-{value}"] = a_room(value, tainted=flag)
        else:
            rooms.drop(f"n-{value}")
            model.rooms.pop(f"n-{value}", None)


def test_names_are_compared_as_people_do():
    """Among equals node-2 comes before node-10."""
    rooms = Rooms()
    for number in (10, 2):
        rooms.put(Room(f"node-{number}", {}, [], {"cpu": 1000, "pods": 1}))
    assert rooms.best(a_shape(1, picky=False)) == "node-2"
