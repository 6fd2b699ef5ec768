"""The simulator's private endpoint for nodes: `POST /_sim/nodes/ACTION` with `{"name": …}`.

For tests and demonstrations: what an administrator does to machines, not to objects. Actions are
those of `Nodes.request`: add (with allocatable, labels, taints), remove, cordon, uncordon, lose, find.
"""

from shared.kubesim.apimachinery import errors
from shared.kubesim.kubelet.nodes import Nodes
from shared.kubesim.requests.call import Call, Reply, json_reply

PATH = "/_sim/nodes/"
_MASTERS = "system:masters"


class NodeEndpoint:
    """Answers what is below `/_sim/nodes/`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def answer(self, call: Call) -> Reply | None:
        """The node as it is now ({} after remove), or None if the path is something else.

        For administrators only. Raises ApiError.
        """
        if not call.path.startswith(PATH):
            return None
        action = call.path.removeprefix(PATH)
        if _MASTERS not in call.user.groups:
            raise errors.forbidden("nodes", "", "", f'User "{call.user.name}" is no administrator')
        if call.method != "POST":
            raise errors.method_not_allowed()
        body = call.json()
        if not isinstance(body, dict):
            raise errors.bad_request('the body must be {"name": …}')
        return json_reply(self._nodes.request(action, body) or {})
