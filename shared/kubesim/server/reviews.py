"""Questions about identity and rights: SelfSubjectReview, access reviews, tokens."""

import datetime as dt
import secrets
from collections.abc import Callable
from typing import Any

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.requests.call import Call, Reply, User, json_reply
from shared.kubesim.store.objects import ObjectStore

_ALL = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
_ALL_PATHS = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


class Reviews:
    """Answers POSTs to the review resources, and issues service account tokens."""

    def __init__(
        self,
        store: ObjectStore,
        tokens: dict[str, User],
        allows: Callable[[User, str, str, str], str],
        keep_tokens: Callable[[], None],
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._allows = allows
        self._keep_tokens = keep_tokens

    async def answer(self, call: Call) -> Reply | None:
        """The reply to a review, or None if the path is something else."""
        parts = call.path.strip("/").split("/")
        if len(parts) < 4 or parts[1] not in ("authorization.k8s.io", "authentication.k8s.io"):
            return None
        if call.method != "POST":
            return None
        review = call.json()
        if not isinstance(review, dict):
            raise errors.bad_request("the body is no review")
        status = self._status(call, parts[3], review)
        return None if status is None else json_reply({**review, "status": status}, 201)

    def _status(self, call: Call, plural: str, review: dict[str, Any]) -> dict[str, Any] | None:
        spec = review.get("spec") or {}
        match plural:
            case "selfsubjectreviews":
                return {"userInfo": _user_info(call.user)}
            case "selfsubjectaccessreviews":
                return self._access(call.user, spec)
            case "subjectaccessreviews":
                return self._access(
                    User(spec.get("user", ""), tuple(spec.get("groups") or ())), spec
                )
            case "selfsubjectrulesreviews":
                return {
                    "resourceRules": _ALL,
                    "nonResourceRules": _ALL_PATHS,
                    "incomplete": False,
                }
            case "tokenreviews":
                user = self._tokens.get(spec.get("token", ""))
                if user is None:
                    return {"authenticated": False, "error": "invalid bearer token"}
                return {"authenticated": True, "user": _user_info(user)}
            case _:
                return None

    def _access(self, user: User, spec: dict[str, Any]) -> dict[str, Any]:
        attributes = spec.get("resourceAttributes") or spec.get("nonResourceAttributes") or {}
        refusal = self._allows(
            user,
            attributes.get("verb", ""),
            attributes.get("resource", ""),
            attributes.get("namespace", ""),
        )
        return {"allowed": False, "reason": refusal} if refusal else {"allowed": True}

    async def issue_token(self, call: Call) -> Reply:
        """`POST serviceaccounts/NAME/token`: a token that this server knows from now on."""
        if call.method != "POST":
            raise errors.method_not_allowed()
        account = self._store.get("serviceaccounts", call.namespace, call.name)
        if account is None:
            raise errors.not_found("serviceaccounts", "", call.name)
        request = call.json()
        spec = (request.get("spec") or {}) if isinstance(request, dict) else {}
        token = secrets.token_urlsafe(32)
        self._tokens[token] = User(
            f"system:serviceaccount:{call.namespace}:{call.name}",
            (
                "system:serviceaccounts",
                f"system:serviceaccounts:{call.namespace}",
                "system:authenticated",
            ),
        )
        self._keep_tokens()
        status = {"token": token, "expirationTimestamp": _expiry(self._store, spec)}
        return json_reply(
            {
                "kind": "TokenRequest",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {"name": call.name, "namespace": call.namespace},
                "spec": spec,
                "status": status,
            },
            201,
        )


def _expiry(store: ObjectStore, spec: dict[str, Any]) -> str:
    lasting = dt.timedelta(seconds=int(spec.get("expirationSeconds") or 3600))
    return metadata.stamp(store.clock.now() + lasting)


def _user_info(user: User) -> dict[str, Any]:
    return {"username": user.name, "groups": list(user.groups)}
