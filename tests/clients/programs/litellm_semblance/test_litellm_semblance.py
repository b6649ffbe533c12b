"""The calls of LiteLLM that ask the model: opposites, other conversations, parameters and tenants."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import litellm
import pytest
from litellm_semblance import SemblanceCache
from semblance_client import Client, Retries

from tests.clients.programs.questions import OPPOSITE, QUESTION, REWORDED
from tests.clients.programs.task import KEY, MODEL, URL
from tests.support.waiting import until

CLIENT = Client(URL, KEY)
NAME = "litellm-cache"
README = Path(__file__).parents[4] / "clients" / "litellm" / "README.md"


ANSWERS = (f"answer {number}" for number in itertools.count())


@pytest.fixture(autouse=True)
def cache() -> Iterator[None]:
    CLIENT.create_collection(NAME)
    litellm.cache = SemblanceCache(CLIENT, NAME)
    yield
    litellm.cache = None
    CLIENT.delete_collection(NAME)


def user(content: object) -> dict[str, object]:
    return {"role": "user", "content": content}


def stored() -> list[Any]:
    entries: list[Any] = CLIENT.documents(NAME).documents
    return entries


def ask(*messages: Any, awaited: bool = False, **options: Any) -> tuple[str, bool]:
    """The answer to a conversation, when it has been stored, and whether the model was asked."""
    of_model, before = next(ANSWERS), len(stored())
    given = {"model": "gpt-4o", "messages": list(messages), "mock_response": of_model, **options}

    async def response() -> Any:
        found = await litellm.acompletion(**given)
        if found.choices[0].message.content == of_model:
            await asyncio.to_thread(until, lambda: len(stored()) == before + 1)
        return found

    found = asyncio.run(response()) if awaited else litellm.completion(**given)
    answer = found.choices[0].message.content
    return answer, answer == of_model


def asks(*messages: Any, **options: Any) -> bool:
    """Whether the model was asked."""
    return ask(*messages, **options)[1]


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_a_reworded_question_does_not_ask_the_model(awaited: bool) -> None:
    answers = [ask(user(each), awaited=awaited) for each in (QUESTION, REWORDED, OPPOSITE)]
    assert [asked for _, asked in answers] == [True, False, True]
    assert answers[1][0] == answers[0][0]
    assert {each.metadata["cache"]["tokens"] for each in stored()} == {30}
    assert all("cache_until" not in each.metadata for each in stored())


def test_parameters_conversations_and_tenants_are_kept_apart() -> None:
    brief = {"role": "system", "content": "Be brief."}
    assert asks(brief, user(QUESTION))
    assert not asks(brief, user([{"type": "text", "text": REWORDED}]))
    assert asks(user(QUESTION))
    assert asks({"role": "system", "content": "Be very brief."}, user(QUESTION))
    assert asks(brief, user("I use Linux."), user(QUESTION))
    assert asks(brief, user(QUESTION), model="gpt-4.1")
    assert asks(brief, user(QUESTION), temperature=0.5)
    assert asks(brief, user(QUESTION), metadata={"user_api_key_team_id": "acme"})
    assert not asks(brief, user(REWORDED), metadata={"user_api_key_team_id": "acme"})
    assert asks(brief, user(QUESTION), metadata={"user_api_key_team_id": "zeta"})
    assert asks(brief, user(QUESTION), cache={"namespace": "acme"})
    assert not asks(brief, user(REWORDED))


def test_images_and_results_of_tools_have_to_be_equal() -> None:
    def picture(words: str, name: str) -> dict[str, object]:
        return user([{"type": "text", "text": words}, {"type": "image_url", "image_url": {"url": name}}])

    def result(words: str) -> list[Any]:
        call = {"id": "1", "type": "function", "function": {"name": "help", "arguments": "{}"}}
        called = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [user(QUESTION), called, {"role": "tool", "tool_call_id": "1", "content": words}]

    assert [asks(picture(*each)) for each in ((QUESTION, "a"), (QUESTION, "b"), (REWORDED, "a"))] == [True] * 3
    assert not asks(picture(QUESTION, "a"))
    assert [asks(*result(each)) for each in (QUESTION, REWORDED, QUESTION)] == [True, True, False]


def test_completions_expire_as_the_cache_or_the_call_says() -> None:
    litellm.cache = SemblanceCache(CLIENT, NAME, ttl=3600)
    now = time.time()  # far from any other time
    ask(user(QUESTION))
    ask(user(OPPOSITE), cache={"ttl": 7200})
    until_s = sorted(each.metadata["cache_until"] - now for each in stored())
    assert until_s == [pytest.approx(3600, abs=60), pytest.approx(7200, abs=60)]


def test_a_failing_service_only_logs(caplog: pytest.LogCaptureFixture) -> None:
    litellm.cache = SemblanceCache(Client("http://127.0.0.1:1", retries=Retries(1)), NAME)
    assert asks(user(QUESTION))
    [read] = [each for each in caplog.records if each.name == "litellm_semblance.cache"]
    assert (read.levelno, stored()) == (logging.WARNING, [])


def test_embeddings_are_not_cached(caplog: pytest.LogCaptureFixture) -> None:
    litellm.embedding(model=f"openai/{MODEL}", input=[QUESTION], api_base=f"{URL}/v1", api_key=KEY)
    assert (stored(), caplog.text.count("add_cache")) == ([], 0)  # none was tried


def test_the_example_of_the_readme_prints_its_output() -> None:
    """In this process, as LiteLLM takes seconds to import."""
    [(code, shown)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    placed = code.replace('Client("http://127.0.0.1:8000")', f'Client("{URL}", "{KEY}")')
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(placed, {})
    CLIENT.delete_collection("answers")
    assert printed.getvalue() == shown
