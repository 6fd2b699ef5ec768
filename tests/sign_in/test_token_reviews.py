"""Service accounts of the hub cluster: who they are is what that cluster says, simulated or real."""

import asyncio
import base64
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.bridge.token_reviews import HubClusterReviews
from hub.services.access.sign_in.reviews import BELIEVED_S, ClusterSilent, Review, Reviews
from hub.services.access.sign_in.terms import TokenReviews
from hub.services.context.settings import Settings
from shared.clock import ManualClock, SystemClock
from shared.errors import Rejected
from shared.kube.client import KubeClient
from tests import waiting
from tests.api.people import bound
from tests.api.serving import Served, a_job, served
from tests.realkube.agreement import Cluster
from tests.sign_in.provider import local_provider, terms

pytestmark = pytest.mark.anyio
FOR_HUB = "roadstead"


async def asked(hub: Served, token: str) -> Any:
    return await hub.nobody.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"})


async def token_for(kube: KubeClient, namespace: str, audiences: Sequence[str]) -> str:
    """A token of the account `robot`, as `kubectl create token` asks for it."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/robot/token"
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": list(audiences)},
    }
    told = await kube._connection.request("POST", path, body=body)
    return str(told["status"]["token"])


async def test_a_service_account_hands_in_a_job(tmp_path: Path, any_cluster: Cluster):
    """With a token for the hub; by one for others, an edited one, one of an account that went: none."""
    namespace, clock = f"robots-{uuid.uuid4().hex[:8]}", SystemClock()
    reviews = HubClusterReviews(any_cluster.kubeconfig, FOR_HUB, clock)
    async with (
        await KubeClient.connect(any_cluster.kubeconfig, clock=clock) as kube,
        served(tmp_path) as hub,
    ):
        try:
            hub.hub.sign_in.review(FOR_HUB, reviews.ask)
            account = {"namespace": namespace, "name": "robot"}
            for kind, metadata in (
                ("Namespace", {"name": namespace}),
                ("ServiceAccount", account),
            ):
                made = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
                await kube.create(made, field_manager="test")
            name = f"system:serviceaccount:{namespace}:robot"
            await bound(hub, "robot", "submitter", users=[name], namespaces=["team-a"])
            token = await token_for(kube, namespace, [FOR_HUB])
            told = (await asked(hub, token)).json()
            assert (told["name"], told["role"]) == (name, "user")
            assert f"system:serviceaccounts:{namespace}" in told["groups"]
            bearer = {"Authorization": f"Bearer {token}"}
            job = await hub.nobody.post("/v1/jobs", json=a_job("one"), headers=bearer)
            assert (job.status_code, job.json()["owner"]) == (201, name)
            other = await token_for(kube, namespace, ["another"])
            assert (await asked(hub, other)).status_code == 401
            edited = await asked(hub, claiming(other, aud=[FOR_HUB]))
            assert (edited.status_code, edited.json()["code"]) == (401, "TokenNotAccepted")
            await kube.delete("v1", "ServiceAccount", namespace, "robot")
            async with asyncio.timeout(30):
                while (gone := await asked(hub, token)).status_code == 200:
                    hub.clock.advance(BELIEVED_S + 1)
                    await waiting.span(0.5, why="an API server remembers tokens for ten seconds")
            assert gone.json()["code"] == "TokenNotAccepted"
        finally:
            if reviews._client is not None:
                await reviews._client.close()


def claiming(token: str, **claims: Any) -> str:
    """The token with other claims, and its old signature."""
    header, content, signature = token.split(".")
    told = orjson.loads(base64.urlsafe_b64decode(content + "==")) | claims
    edited = base64.urlsafe_b64encode(orjson.dumps(told)).rstrip(b"=").decode()
    return f"{header}.{edited}.{signature}"


def a_token(**claims: Any) -> str:
    """A token that says so of itself."""
    return claiming("e30.e30.c2ln", **{"aud": [FOR_HUB], **claims})


ROBOT = "system:serviceaccount:team-a:robot"


async def test_what_the_cluster_says_is_believed_briefly_and_not_too_much(tmp_path):
    """Asked once in ten seconds; names that are no account's and reviews for anybody are none."""
    asks: list[str] = []
    said = Review(authenticated=True, name=ROBOT, groups=["g", "\x1b"], audiences=[FOR_HUB])
    answers: list[Review | None] = [said]

    async def ask(token: str) -> Review:
        asks.append(token)
        if answers[0] is None:
            raise ClusterSilent("down")
        return answers[0]

    async with served(tmp_path) as hub:
        hub.hub.sign_in.review(FOR_HUB, ask)
        token = a_token(sub=ROBOT)
        for _ in range(3):
            assert (await asked(hub, token)).json()["groups"] == ["g"]
        assert len(asks) == 1
        hub.clock.advance(BELIEVED_S + 1)
        answers[0] = None
        down = await asked(hub, token)
        assert (down.status_code, down.json()["code"]) == (503, "SignInUnavailable")
        for told in (
            replace(said, authenticated=False),
            replace(said, audiences=[]),
            replace(said, audiences=["another"]),
            replace(said, name="admin"),
            replace(said, name="oidc:ana@example.org"),
            replace(said, name="system:serviceaccount:team-a"),
            replace(said, name="system:serviceaccount:team-a:a:b"),
            replace(said, name="system:serviceaccount:Team-A:robot"),
        ):
            answers[0] = told
            reply = await asked(hub, a_token(sub=ROBOT, jti=str(told)))
            assert reply.json()["code"] == "TokenNotAccepted", told


async def test_a_token_that_was_good_is_remembered_and_one_that_was_not_is_none():
    """A remembered token skips the limit on failures, so a refused one must not be remembered."""
    answers = {a_token(sub=ROBOT, jti="good"): True, a_token(sub=ROBOT, jti="bad"): False}

    async def ask(token: str) -> Review:
        return Review(answers[token], name=ROBOT, audiences=[FOR_HUB])

    reviews = Reviews(FOR_HUB, ask, ManualClock())
    for token, good in answers.items():
        assert not reviews.remembers(token)
        if good:
            assert (await reviews.principal(token)).name == ROBOT
        else:
            with pytest.raises(Rejected):
                await reviews.principal(token)
        assert reviews.remembers(token) is good


async def test_the_cluster_is_shown_no_token_of_a_person(tmp_path):
    """Nor one that says that it is for somebody else; a provider's people come in beside accounts."""
    asks: list[str] = []

    async def ask(token: str) -> Review:
        asks.append(token)
        return Review(authenticated=False)

    with local_provider() as provider:
        settings = terms(provider)
        async with served(tmp_path, settings) as hub:
            provider.now_s = hub.clock.now().timestamp()
            hub.hub.sign_in.review(FOR_HUB, ask)
            assert (await asked(hub, provider.token())).status_code == 200
            for token in (a_token(sub="ana"), a_token(sub=ROBOT, aud="x"), a_token()):
                assert (await asked(hub, token)).status_code == 401
            assert asks == []


def test_it_is_off_until_somebody_says_for_whom():
    """No audience, no reviews; and an audience without a cluster that reviews is a mistake."""
    assert Settings().token_reviews == TokenReviews("")
    TokenReviews("").do_without_cluster()
    with pytest.raises(ValueError, match="hub cluster"):
        TokenReviews(FOR_HUB).do_without_cluster()
