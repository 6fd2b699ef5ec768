"""Questions about identity and rights: SelfSubjectReview, access reviews, tokens."""

import base64
import datetime as dt
import secrets
from collections.abc import Callable
from typing import Any, Final

import orjson

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.requests.call import Call, Reply, User, json_reply
from shared.kubesim.store.objects import ObjectStore

# Who issues tokens of service accounts, and whom they are for where nobody says it.
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
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
                return self._token(spec)
            case _:
                return None

    def _token(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Whose token it is, and for which of the audiences that are asked for."""
        token = str(spec.get("token", ""))
        user = self._tokens.get(token)
        asked = spec.get("audiences") or [ISSUER]
        good = [each for each in asked if serves(token, each, self._store.clock.now())]
        if user is None or not good or not self._is_there(user):
            return {"authenticated": False, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user), "audiences": good}

    def _is_there(self, user: User) -> bool:
        """Whether the service account of that name, if it is one, still exists."""
        account = user.name.removeprefix("system:serviceaccount:")
        if account == user.name:
            return True
        namespace, _, name = account.partition(":")
        return self._store.get("serviceaccounts", namespace, name) is not None

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
        expiry = _expiry(self._store, spec)
        token = _account_token(f"{call.namespace}:{call.name}", spec, expiry)
        self._tokens[token] = User(
            f"system:serviceaccount:{call.namespace}:{call.name}",
            (
                "system:serviceaccounts",
                f"system:serviceaccounts:{call.namespace}",
                "system:authenticated",
            ),
        )
        self._keep_tokens()
        status = {"token": token, "expirationTimestamp": metadata.stamp(expiry)}
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


def serves(token: str, audience: str, now: dt.datetime) -> bool:
    """Whether a token that the server knows is for that audience, and has not expired.

    One that is no service account's is for the API server alone, and does not expire.
    """
    parts = token.split(".")
    if len(parts) != 3:
        return audience == ISSUER
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=="))
    except ValueError:
        return (
            audience == ISSUER
        )  # one that was given to the server, and happens to have such a form
    return audience in claims["aud"] and now.timestamp() < claims["exp"]


def _account_token(account: str, spec: dict[str, Any], expiry: dt.datetime) -> str:
    """As Kubernetes' own look, with claims that anybody reads; this server verifies it by knowing it."""
    claims = {
        "iss": ISSUER,
        "sub": f"system:serviceaccount:{account}",
        "aud": spec.get("audiences") or [ISSUER],
        "exp": int(expiry.timestamp()),
    }
    parts = (orjson.dumps({"alg": "RS256", "kid": "simulated"}), orjson.dumps(claims))
    shown = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts]
    return ".".join([*shown, secrets.token_urlsafe(32)])


def _expiry(store: ObjectStore, spec: dict[str, Any]) -> dt.datetime:
    lasting = dt.timedelta(seconds=int(spec.get("expirationSeconds") or 3600))
    return store.clock.now() + lasting


def _user_info(user: User) -> dict[str, Any]:
    return {"username": user.name, "groups": list(user.groups)}
