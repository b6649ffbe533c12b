"""Laws of the question of a conversation: what is compared by words, and what has to be equal."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semblance_client.conversation import question_of

WORDS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
PARTS = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}), min_size=1, max_size=3)
CONTENT = WORDS | PARTS
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": CONTENT}), max_size=3
)
IMAGE = {"type": "image_url", "image_url": {"url": "a"}}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@given(MESSAGES, WORDS, WORDS)
def test_only_the_last_words_leave_the_context(before: list[Any], words: str, others: str) -> None:
    asked = question_of([*before, user(words)], from_user=True)
    assert asked[0] == words
    assert question_of([*before, user([{"type": "text", "text": others}])], from_user=True) == (others, asked[1])


@given(MESSAGES, CONTENT, st.data())
def test_every_other_change_changes_the_context(before: list[Any], content: Any, data: st.DataObject) -> None:
    messages = [*before, {**user(content), "name": "ada"}]
    changed = copy.deepcopy(messages)
    place = data.draw(st.integers(0, len(messages) - 1))
    if place == len(messages) - 1 or data.draw(st.booleans()):
        changed[place]["name"] = "bob"
    else:
        changed[place]["content"] = data.draw(CONTENT.filter(lambda found: found != messages[place]["content"]))
    question, context = question_of(messages, from_user=True)
    assert question_of(changed, from_user=True)[0] == question
    assert question_of(changed, from_user=True)[1] != context
    assert question_of([user("More."), *messages], from_user=True)[1] != context


@pytest.mark.parametrize(
    ("messages", "from_user"),
    [
        ([user([{"type": "text", "text": "a"}, IMAGE])], True),
        ([user([IMAGE])], True),
        ([user([{"type": "text"}])], True),
        ([user("a")], False),
        ([user(" \n")], True),
        ([user([])], True),
        ([user(None)], True),
        ([object], False),
    ],
)
def test_all_else_is_compared_as_a_whole(messages: list[Any], from_user: bool) -> None:
    question, context = question_of(messages, from_user=from_user)
    assert question == context
    assert question_of([user("b"), *messages], from_user=from_user)[0] != question


def test_fields_beside_the_text_of_a_part_count() -> None:
    plain, kept = {"type": "text", "text": "a"}, {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    asked = [question_of([user([part])], from_user=True) for part in (plain, kept)]
    assert asked[0][0] == asked[1][0] == "a"
    assert asked[0][1] != asked[1][1]
