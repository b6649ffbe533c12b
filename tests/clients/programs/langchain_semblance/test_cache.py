"""The standard tests of caches, and what asks the model: opposites, other conversations and tenants."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.caches import BaseCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import LLM, BaseChatModel
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_semblance import SemblanceCache
from langchain_tests.integration_tests import AsyncCacheTestSuite, SyncCacheTestSuite
from semblance_client import Client, Retries, Unauthorized, Unreachable

from tests.clients.programs.questions import OPPOSITE, QUESTION, REWORDED
from tests.clients.programs.task import KEY, URL

CLIENT = Client(URL, KEY)
NAME = "langchain-cache"
USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


@pytest.fixture(autouse=True)
def collection() -> Iterator[None]:
    CLIENT.create_collection(NAME)
    yield
    set_llm_cache(None)
    CLIENT.delete_collection(NAME)


class TestCache(SyncCacheTestSuite):  # type: ignore[misc]  # mypy does not see its package
    """The standard tests of caches."""

    @pytest.fixture
    def cache(self) -> BaseCache:
        return SemblanceCache(CLIENT, NAME)


class TestAwaitedCache(AsyncCacheTestSuite):  # type: ignore[misc]  # likewise
    """Those of awaited methods."""

    @pytest.fixture
    async def cache(self) -> BaseCache:
        return SemblanceCache(CLIENT, NAME)


class Chat(BaseChatModel):  # type: ignore[misc]  # likewise
    """Answers by the number of its calls."""

    calls: list[int]
    name_of_model: str = "chat"

    @property
    def _llm_type(self) -> str:
        return "chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.name_of_model}

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        assert messages
        self.calls.append(len(self.calls))
        message = AIMessage(f"answer {len(self.calls)}", usage_metadata=USAGE)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Completion(LLM):  # type: ignore[misc]  # likewise
    """Likewise, of texts."""

    calls: list[str]

    @property
    def _llm_type(self) -> str:
        return "completion"

    def _call(self, prompt: str, *_: Any, **__: Any) -> str:
        self.calls.append(prompt)
        return f"answer {len(self.calls)}"


def chat(**cache: Any) -> Chat:
    """A model with an empty cache."""
    set_llm_cache(SemblanceCache(CLIENT, NAME, **cache))
    return Chat(calls=[])


def stored() -> list[Any]:
    entries: list[Any] = CLIENT.documents(NAME).documents
    return entries


def asks(model: Chat, *messages: Any, **options: Any) -> bool:
    """Whether the model was asked."""
    before = len(model.calls)
    model.invoke(list(messages), **options)
    return len(model.calls) > before


def picture(words: str, name: str) -> HumanMessage:
    return HumanMessage([{"type": "text", "text": words}, {"type": "image_url", "image_url": {"url": name}}])


def test_a_reworded_question_does_not_ask_the_model() -> None:
    model = chat()
    answers = [model.invoke(text) for text in (QUESTION, REWORDED, OPPOSITE)]
    assert [each.content for each in answers] == ["answer 1", "answer 1", "answer 2"]
    assert answers[1].usage_metadata["total_tokens"] == 12
    assert {each.metadata["cache"]["tokens"] for each in stored()} == {12}


async def test_awaited_calls_use_the_same_answers() -> None:
    model = chat()
    assert asks(model, HumanMessage(QUESTION))
    assert (await model.ainvoke(REWORDED)).content == "answer 1"
    assert (await model.ainvoke(OPPOSITE)).content == "answer 2"


def test_models_parameters_and_tenants_are_kept_apart() -> None:
    model = chat(scope={"tenant": "acme"})
    assert asks(model, HumanMessage(QUESTION))
    assert asks(model, HumanMessage(REWORDED), stop=["."])
    assert asks(Chat(calls=model.calls, name_of_model="other"), HumanMessage(REWORDED))
    assert not asks(model, HumanMessage(REWORDED))
    assert asks(chat(scope={"tenant": "zeta"}), HumanMessage(REWORDED))


def test_the_same_question_of_another_conversation_asks_the_model() -> None:
    model, brief = chat(), SystemMessage("Be brief.")
    assert asks(model, brief, HumanMessage(QUESTION))
    assert asks(model, HumanMessage(QUESTION))
    assert asks(model, SystemMessage("Be very brief."), HumanMessage(QUESTION))
    assert asks(model, brief, HumanMessage("I use Linux."), AIMessage("Good."), HumanMessage(QUESTION))
    assert asks(model, brief, HumanMessage("I use macOS."), AIMessage("Good."), HumanMessage(QUESTION))
    assert not asks(model, brief, HumanMessage("I use macOS."), AIMessage("Good."), HumanMessage(REWORDED))
    assert not asks(model, brief, HumanMessage([{"type": "text", "text": REWORDED}]))
    assert asks(model, brief, HumanMessage(QUESTION, name="ada"))


def test_images_and_results_of_tools_have_to_be_equal() -> None:
    model = chat()
    assert asks(model, picture(QUESTION, "a.png"))
    assert asks(model, picture(QUESTION, "b.png"))
    assert asks(model, picture(REWORDED, "a.png"))
    assert not asks(model, picture(QUESTION, "a.png"))
    call = AIMessage("", tool_calls=[{"name": "help", "args": {}, "id": "1"}])
    assert asks(model, HumanMessage(QUESTION), call, ToolMessage(QUESTION, tool_call_id="1"))
    assert asks(model, HumanMessage(QUESTION), call, ToolMessage(REWORDED, tool_call_id="1"))
    assert not asks(model, HumanMessage(QUESTION), call, ToolMessage(QUESTION, tool_call_id="1"))


def test_prompts_without_messages_are_compared_as_they_are() -> None:
    set_llm_cache(SemblanceCache(CLIENT, NAME))
    model = Completion(calls=[])
    prompts = [QUESTION, REWORDED, OPPOSITE, '["a list"]', '[{"lc": 1}]', "{}"]
    for prompt in prompts * 2:
        model.invoke(prompt)
    assert model.calls == [each for each in prompts if each != REWORDED]


@pytest.mark.parametrize(
    "client", [Client("http://127.0.0.1:1", retries=Retries(1)), Client(URL, "wrong")], ids=["unreachable", "wrong key"]
)
def test_a_failing_service_only_logs(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    set_llm_cache(SemblanceCache(client, NAME))
    assert Chat(calls=[]).invoke(QUESTION).content == "answer 1"
    logged = [each.levelno for each in caplog.records if each.name == "langchain_semblance.cache"]
    assert logged == [logging.WARNING] * 2  # of a lookup and an update
    with pytest.raises((Unauthorized, Unreachable)):
        SemblanceCache(client, NAME).clear()


@pytest.mark.parametrize("planted", [dumps([HumanMessage("x")]), {"a": 1}, "x"], ids=["class", "object", "text"])
def test_answers_that_are_no_generations_are_not_read(planted: object, caplog: pytest.LogCaptureFixture) -> None:
    model = chat()
    assert asks(model, HumanMessage(QUESTION))
    [entry] = stored()
    CLIENT.store_answer(NAME, QUESTION, planted, scope=entry.metadata["cache"]["scope"])
    assert asks(model, HumanMessage(REWORDED))
    assert "could not be read" in caplog.text


def test_answers_expire_and_are_cleared_by_tenant() -> None:
    acme, zeta = chat(scope={"tenant": "acme"}, ttl_s=3600), SemblanceCache(CLIENT, NAME, scope={"tenant": "zeta"})
    assert asks(acme, HumanMessage(QUESTION))
    [entry] = stored()
    assert entry.metadata["cache_until"] > 3600
    zeta.clear()
    assert not asks(acme, HumanMessage(QUESTION))
    SemblanceCache(CLIENT, NAME, scope={"tenant": "acme"}).clear()
    assert asks(acme, HumanMessage(QUESTION))
    SemblanceCache(CLIENT, NAME).clear()
    assert stored() == []
    with pytest.raises(TypeError, match="no llm_string"):
        zeta.clear(llm_string="x")
    with pytest.raises(ValueError, match="'langchain'"):
        SemblanceCache(CLIENT, NAME, scope={"langchain": "x"})
