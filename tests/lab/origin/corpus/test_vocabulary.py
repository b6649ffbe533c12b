"""The subword vocabulary, and the table of token ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from semblance_lab.origin.corpus import tokens
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary, write_token_table
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import CORPUS_PARTS
from tests.lab.origin.tiny_corpus import build, tiny_documents
from tests.support.small_model import BUILT_IN_FOLDER

TEXTS = [text for _, texts in tiny_documents() for text in texts]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.train(TEXTS, 300)


@pytest.fixture(scope="module")
def saved(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    vocabulary.save(folder)
    return folder


def test_auto_tokenizer_gives_the_same_subwords(vocabulary: Vocabulary, saved: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(saved)
    assert len(tokenizer) == vocabulary.size == 300
    for text in [*TEXTS[:50], "Zebra Ω quartz"]:
        [ids] = vocabulary.encode([text], 1_000)
        assert tokenizer(text)["input_ids"] == [vocabulary.start, *ids.tolist(), vocabulary.end]
        assert tokenizer(text.upper())["input_ids"] == tokenizer(text)["input_ids"]
    assert tokenizer.convert_ids_to_tokens([vocabulary.pad, vocabulary.start, vocabulary.end, vocabulary.unknown]) == [
        *("[PAD]", "[CLS]", "[SEP]", "[UNK]")
    ]
    assert tokenizer.decode(tokenizer("The baker gave Emma a knife.")["input_ids"], skip_special_tokens=True) == (
        "the baker gave emma a knife."
    )
    again = Vocabulary.open(saved)
    assert [ids.tolist() for ids in again.encode(TEXTS, 9)] == [ids.tolist() for ids in vocabulary.encode(TEXTS, 9)]


@pytest.mark.parametrize("size", [64, 128, 2_000])
def test_training_is_deterministic(size: int, tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        Vocabulary.train(iter(TEXTS), size).save(tmp_path / name)
        files.append((tmp_path / name / "tokenizer.json").read_text("utf-8"))
    assert files[0] == files[1]
    assert Vocabulary.open(tmp_path / "one").size <= size


def test_texts_are_truncated_and_never_empty(vocabulary: Vocabulary) -> None:
    long, empty, unknown = vocabulary.encode(["rain " * 1_000, "", "\u200b"], 5)
    assert len(long) == 5
    assert empty.tolist() == unknown.tolist() == [vocabulary.unknown]
    assert {ids.dtype for ids in (long, empty)} == {np.dtype(np.int32)}


@pytest.mark.parametrize(
    "texts",
    [
        ["今天天气很好。", "我们今天去公园散步。"],
        ["मैं घर जा रहा हूँ।", "तुम घर जा रहे हो?"],
        ["ذهبت إلى السوق.", "ماذا اشتريت؟"],
    ],
)
def test_other_scripts_keep_every_character(texts: list[str]) -> None:
    vocabulary = Vocabulary.train(texts, 500)
    tokenizer = vocabulary._pretrained
    for text, ids in zip(texts, vocabulary.encode(texts, 100), strict=True):
        assert vocabulary.unknown not in ids
        pieces = "".join(tokenizer.convert_ids_to_tokens(ids.tolist())).replace("##", "")
        assert pieces == text.replace(" ", "")


def test_a_transformers_vocabulary_is_read_without_its_truncation() -> None:
    vocabulary = Vocabulary.of(BUILT_IN_FOLDER)
    tokenizer = AutoTokenizer.from_pretrained(BUILT_IN_FOLDER)
    text = "Playing guitars " * 300
    [ids] = vocabulary.encode([text], 10_000)
    assert ids.tolist() == tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"]
    assert (vocabulary.pad, vocabulary.start, vocabulary.end) == (0, 101, 102)


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match="contains no vocabulary; run `semblance origin corpus`"):
        Vocabulary.open(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(BadOrigin, match="cannot load the tokenizer"):
        Vocabulary.open(tmp_path)


def test_the_table_contains_the_encoded_sentences(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "BATCH", 50)
    build(tmp_path / "corpus", tiny_documents(), held_out=0.3)
    done: list[int] = []
    for part in CORPUS_PARTS:
        corpus = Corpus.open(tmp_path / "corpus", part)
        write_token_table(corpus, vocabulary, 12, tmp_path, done.append)
        table = TokenTable.open(tmp_path, part)
        expected = [ids.tolist() for ids in vocabulary.encode(list(corpus), 12)]
        assert [row.tolist() for row in table.rows(np.arange(len(table)))] == expected
        assert [row.tolist() for row in table.rows([7, 3, 7])] == [expected[7], expected[3], expected[7]]
        assert table.lengths.tolist() == list(map(len, expected))
        assert table.tokens == sum(map(len, expected))
        assert np.load(tmp_path / f"{part}-ids.npy").dtype == np.uint16
        assert {row.dtype for row in table.rows([0, 1])} == {np.dtype(np.int32)}
    assert sum(done) == len(TEXTS)


def test_ids_beyond_two_bytes_are_kept(vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "corpus", tiny_documents())
    corpus = Corpus.open(tmp_path / "corpus")
    monkeypatch.setattr(vocabulary, "size", 2**16 + 1)
    monkeypatch.setattr(vocabulary, "encode", lambda texts, _most: [np.array([2**16], np.int32) for _ in texts])
    write_token_table(corpus, vocabulary, 12, tmp_path, lambda _more: None)
    assert {int(row[0]) for row in TokenTable.open(tmp_path).rows(range(len(corpus)))} == {2**16}


def test_an_incomplete_table_is_refused(vocabulary: Vocabulary, tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match=r"no such file: .*train-ids\.npy; run `semblance origin corpus`"):
        TokenTable.open(tmp_path)
    build(tmp_path / "corpus", tiny_documents())
    write_token_table(Corpus.open(tmp_path / "corpus"), vocabulary, 12, tmp_path, lambda _more: None)
    np.save(tmp_path / "train-ids.npy", np.zeros(3, np.uint16))
    with pytest.raises(BadOrigin, match=r"train-offsets\.npy does not belong to train-ids\.npy"):
        TokenTable.open(tmp_path)
    np.save(tmp_path / "train-ids.npy", np.array([{"code": "foreign"}]), allow_pickle=True)
    with pytest.raises(BadOrigin, match=r"train-ids\.npy cannot be read"):
        TokenTable.open(tmp_path)
    (tmp_path / "train-ids.npy").write_bytes(b"")
    with pytest.raises(BadOrigin, match=r"train-ids\.npy cannot be read"):
        TokenTable.open(tmp_path)
