"""Who may watch, as a decision on plain values."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ipc.stream_messages import MAX_CLIENTS
from app.stream.admission import Refusal, preview_path, refusal_of

TOKEN = "s3cret-Token_~"  # noqa: S105 - of a test
PATH = "/v1/preview/run-1"


def decide(path: str = PATH, authorization: tuple[str, ...] = (f"Bearer {TOKEN}",), clients: int = 0) -> Refusal | None:
    return refusal_of(path, authorization, request_id="run-1", token=TOKEN, clients=clients)


@pytest.mark.parametrize("authorization", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_the_token_lets_in_and_the_name_of_the_scheme_has_no_case(authorization: str) -> None:
    assert decide(authorization=(authorization,)) is None


@pytest.mark.parametrize(
    "authorization",
    [
        (),
        ("",),
        ("Bearer",),
        ("Bearer ",),
        (TOKEN,),
        (f"Basic {TOKEN}",),
        (f"Bearer {TOKEN}x",),
        (f"Bearer {TOKEN[:-1]}",),
        (f"Bearer {TOKEN.upper()}",),
        ("Bearer caf\udce9",),
        (f"Bearer {TOKEN}", f"Bearer {TOKEN}"),
    ],
)
def test_a_token_that_is_missing_wrong_or_given_twice_is_401(authorization: tuple[str, ...]) -> None:
    refusal = decide(authorization=authorization)
    assert refusal is not None
    assert refusal.status is HTTPStatus.UNAUTHORIZED
    assert "Authorization: Bearer" in refusal.text


@pytest.mark.parametrize("query", ["token", "access_token"])
def test_a_token_in_the_address_does_not_let_in(query: str) -> None:
    refusal = decide(f"{PATH}?{query}={TOKEN}", authorization=())
    assert refusal is not None
    assert refusal.status is HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "path", ["/", "", "/v1/preview/", "/v1/preview/run-2", "/v1/preview/run-1/x", "/v2/preview/run-1", "run-1"]
)
def test_a_request_that_is_not_running_is_404_and_the_answer_names_the_one_that_is(path: str) -> None:
    refusal = decide(path)
    assert refusal is not None
    assert refusal.status is HTTPStatus.NOT_FOUND
    assert PATH in refusal.text


def test_without_the_token_nobody_learns_what_runs_or_who_watches() -> None:
    answers = {decide(path, (), clients) for path in (PATH, "/v1/preview/other") for clients in (0, MAX_CLIENTS)}
    assert len(answers) == 1


def test_the_sixteenth_client_is_let_in_and_the_seventeenth_is_503() -> None:
    assert decide(clients=MAX_CLIENTS - 1) is None
    refusal = decide(clients=MAX_CLIENTS)
    assert refusal is not None
    assert refusal.status is HTTPStatus.SERVICE_UNAVAILABLE
    assert "16 clients watch already" in refusal.text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_the_path_of_any_request_id_leads_to_it(request_id: str) -> None:
    path = preview_path(request_id)
    assert path.isascii()
    assert refusal_of(path, [f"Bearer {TOKEN}"], request_id=request_id, token=TOKEN, clients=0) is None
