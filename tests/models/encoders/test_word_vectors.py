"""Word vectors: file formats, lookup of texts, and model2vec as the oracle of its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.encoders.word_vectors import WordVectors
from semblance.models.errors import BadCheckpoint, BadTexts
from semblance.models.measures.cosine import Cosine
from semblance.models.protocols import Encoder
from semblance.models.tokenization.words import word_piece_tokenizer
from semblance.service.model_loading.registry import read_source
from tests.support.small_model import load, random_vectors, write_glove

VECTORS = {"the": [1.0, 0.0], "hat": [0.5, -2.0], "of": [0.25, 1e-3]}
LINES = "\n".join(f"{word} {' '.join(map(str, row))}" for word, row in VECTORS.items())


def embedded(encoder: Encoder, *texts: str) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(texts, "document", "END"), "tokens")


def words_of(encoder: Encoder, text: str) -> list[str]:
    return [unit.text for unit in encoder.tokenize([text], "document", "END")[0].units()]


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        f"{LINES}\n",
        f"{LINES}\n\n\n",
        f"3 2\n{LINES}",
        f"\ufeff{LINES}",
        f"\ufeff3 2\n{LINES}",
        f"{LINES}\n".replace("\n", "\r\n"),
        f"{LINES}\n".replace("\n", " \n"),
        f"{LINES}\nthe 9 9",
    ],
)
def test_all_variants_of_text_files_give_the_same_vectors(tmp_path: Path, content: str) -> None:
    (tmp_path / "v.txt").write_bytes(content.encode())
    for embedding, row in zip(embedded(load(tmp_path / "v.txt"), *VECTORS), VECTORS.values(), strict=True):
        assert embedding.vectors.tolist() == [np.array(row, np.float32).tolist()]


def test_words_may_contain_spaces_and_look_like_numbers(tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    file.write_text(". . . 1 2\n3.5 3 4\nat name@domain.com 5 6\n1990 7 8\n\u00a0 9 9\n\u2028x 9 9\n", "utf-8")
    assert [each.vectors.tolist() for each in embedded(load(file), "3.5", "1990")] == [[[3, 4]], [[7, 8]]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1 2\nhat 1\n", "line 2: 1 numbers after the word, not 2"),
        ("the 1 2\nhat 1 2 3\n", "line 2: 3 numbers after the word, not 2"),
        ("the 1 2\nhat 1 x\n", "line 2"),
        ("the 1 2\n\nhat 1 2\n", "line 2: it is empty"),
        ("2 2\nthe 1 2\nhat one 2\n", "line 3"),
        ("3 2\nthe 1 2\nhat 1 2\n", "its header says 3 vectors, it holds 2"),
        ("the 1 2\nhat nan 2\n", "not finite, in vector 2"),
        ("the 1 2\nhat 1e99 2\n", "not finite, in vector 2"),
        ("the 1 2\nhat 1e20 2\n", "outside 1e-15 to 1e\\+15, in vector 2"),
        ("the 1 2\nhat 1e-20 0\n", "outside 1e-15 to 1e\\+15, in vector 2"),
        ("2 2\n", "it holds 0"),
        ("0 2\n", "holds no vector"),
        ("", "line 1"),
        ("just some words\n", "line 1"),
    ],
)
def test_a_malformed_file_is_rejected_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "v.txt"
    file.write_text(content)
    with pytest.raises(BadCheckpoint, match=message) as raised:
        load(file)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("dtype", "more"),
    [
        (np.float16, {"words": np.array(["the", "hat"])}),
        (np.float32, {"vocab": np.array(["the", "hat"])}),
        (np.float64, {"words": np.array([b"the", b"hat"])}),
        (np.int8, {}),
    ],
)
def test_arrays_of_any_type_with_words_inside_or_beside(tmp_path: Path, dtype: type, more: dict[str, Any]) -> None:
    np.savez(tmp_path / "v.npz", vectors=np.array([[1, -2], [3, 4]], dtype), **more)
    if not more:
        (tmp_path / "v.vocab.txt").write_bytes("the\r\n\u2028\r\n".encode())
    [embedding] = embedded(load(tmp_path / "v.npz"), "The")
    assert embedding.vectors.dtype == np.float32
    assert embedding.vectors.tolist() == [[1, -2]]


EYE = np.eye(2, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": EYE, "words": np.array(["a", {"b": 1}], object)}, "cannot read"),  # pickled
        ({"vectors": EYE}, "no array words or vocab"),
        ({"rows": EYE}, "no array `vectors`"),
        ({"vectors": EYE, "words": np.array(["a"])}, "2 vectors for 1 words"),
        ({"vectors": EYE.astype(np.int64), "words": np.array(["a", "b"])}, r"not \(n, d\)"),
        ({"vectors": EYE * np.float32("nan"), "words": np.array(["a", "b"])}, "not finite"),
    ],
)
def test_arrays_that_can_run_code_or_are_malformed_are_rejected(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(BadCheckpoint, match=message):
        load(tmp_path / "v.npz")


def test_damaged_archives_are_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", vectors=EYE, words=np.array(["a", "b"]))
    whole = (tmp_path / "v.npz").read_bytes()
    np.save(tmp_path / "one.npy", EYE)
    one = (tmp_path / "one.npy").read_bytes()
    for content in (b"no archive", b"", one, whole[:100], whole.replace(b"\x80?", b"\x80>", 1)):
        (tmp_path / "v.npz").write_bytes(content)
        with pytest.raises(BadCheckpoint, match=r"v\.npz"):
            load(tmp_path / "v.npz")


def test_repeated_words_count_and_unknown_words_do_not(tmp_path: Path) -> None:
    encoder = load(write_glove(tmp_path / "v.txt", list(VECTORS), np.array(list(VECTORS.values()), np.float32)))
    [embedding] = embedded(encoder, "the the zebra hat")
    assert words_of(encoder, "the the zebra hat") == ["the", "the", "hat"]
    assert embedding.pooled() == pytest.approx([2.5 / 3, -2 / 3])


@pytest.mark.parametrize("text", ["zebra", "🙂🙃", " \u05e9\u05dc\u05d5\u05dd ", "東京タワー", "!?", "\u200bzebra"])
def test_a_text_without_known_words_is_zero_and_scores_zero(tmp_path: Path, text: str) -> None:
    encoder = load(write_glove(tmp_path / "v.txt", list(VECTORS)))
    unknown, *others = embedded(encoder, text, "你好", "the hat", text)
    assert unknown.vectors.tolist() == [[0.0] * 8]
    assert words_of(encoder, text) == [text.strip()]
    for name in ("set_jaccard", "bag_jaccard", "rcmd", "cosine", "dynamax_jaccard", "soft_cardinality", "cmd"):
        assert [similarity(name).score(unknown, other) for other in others] == [0.0, 0.0, 0.0], name
    for other in others:
        assert Cosine().explain(unknown, other).contribution.sum() == 0.0


def test_only_known_words_count_against_the_limit(tmp_path: Path) -> None:
    encoder = load(write_glove(tmp_path / "v.txt", ["the", "hat", "of"]))
    assert encoder.max_tokens == 512
    assert not encoder.tokenize(["zebra " * 600 + "hat " * 512], "query", "NONE")[0].truncated
    with pytest.raises(BadTexts):
        encoder.tokenize(["hat " * 513], "query", "NONE")
    assert words_of(encoder, "the " + "hat " * 512)[0] == "the"
    cut = encoder.tokenize(["the " + "hat " * 511 + "of"], "query", "START")[0]
    assert [cut.units()[i].text for i in (0, -1)] == ["hat", "of"]


def test_every_file_and_setting_that_changes_vectors_changes_the_space(tmp_path: Path) -> None:
    file, counts = write_glove(tmp_path / "v.txt", ["the", "hat"]), tmp_path / "counts"
    counts.write_text("the 5\nhat 1\n")
    weighted = f"{file}?weighting=sif&frequencies={counts}"
    spaces = {read_source(source).space for source in (str(file), f"{file}?weighting=uniform", weighted)}
    counts.write_text("the 6\nhat 1\n")
    spaces.add(read_source(weighted).space)
    write_glove(file, ["the", "cat"])
    spaces.add(read_source(str(file)).space)
    np.savez(tmp_path / "v.npz", vectors=random_vectors(2))
    for words in ("the\nhat", "the\ncat"):
        (tmp_path / "v.vocab.txt").write_text(words)
        spaces.add(read_source(str(tmp_path / "v.npz")).space)
    assert len(spaces) == 7


PIECES = ["[PAD]", "[UNK]", "play", "##ing", "guitar", "the", "a", ".", "music", "##s"]
TEXTS = ["The guitar is PLAYING.", "plays zzz music", "zzz", "a a a . the musics", "the " * 700]


def wordpiece() -> Tokenizer:
    return word_piece_tokenizer({piece: row for row, piece in enumerate(PIECES)})


def unigram() -> Tokenizer:
    scores = {"<unk>": 0.0, "▁the": -1.0, "▁play": -2.0, "ing": -2.0, "▁a": -1.5, "▁guitar": -3.0, ".": -1.0}
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kind", ["plain", "float16", "int8", "mapped", "unigram"])
def test_a_model2vec_folder_has_the_vectors_of_model2vec(tmp_path: Path, kind: str, normalize: bool) -> None:
    tokenizer = unigram() if kind == "unigram" else wordpiece()
    vectors = random_vectors(tokenizer.get_vocab_size())
    more: dict[str, Any] = {}
    if kind == "mapped":
        vectors, weights = vectors[:4], np.linspace(0.25, 2, len(PIECES), dtype=np.float32)
        more = {"token_mapping": np.arange(len(PIECES)) % 4, "weights": weights}
    if kind in ("float16", "int8"):
        vectors = (vectors * 8).astype(kind)
    oracle = StaticModel(vectors, tokenizer, {"model_type": "model2vec"}, normalize=normalize, **more)
    oracle.save_pretrained(tmp_path / "m")
    encoder = load(tmp_path / "m")
    embedding = np.stack([each.pooled() for each in embedded(encoder, *TEXTS)])
    expected = oracle.encode(TEXTS).astype(np.float32)
    assert embedding == pytest.approx(expected, abs=1e-3 * float(np.abs(expected).max()) if kind == "float16" else 1e-5)
    for each, rows in zip(embedded(encoder, *TEXTS[:2]), oracle.encode_as_sequence(TEXTS[:2]), strict=True):
        assert each.vectors == pytest.approx(rows.astype(np.float32), abs=1e-6)


def test_a_model2vec_folder_is_recognized_by_its_weights(tmp_path: Path) -> None:
    StaticModel(random_vectors(len(PIECES)), wordpiece(), max_length=7).save_pretrained(tmp_path / "m")
    assert "model_type" not in json.loads((tmp_path / "m" / "config.json").read_text())
    encoder = load(tmp_path / "m")
    assert isinstance(encoder, WordVectors)
    assert encoder.max_tokens == 7


def test_inconsistent_files_of_model2vec_are_rejected(tmp_path: Path) -> None:
    StaticModel(random_vectors(len(PIECES)), wordpiece()).save_pretrained(tmp_path / "m")
    unfitting = wordpiece()
    unfitting.add_tokens(["another"])
    unfitting.save(str(tmp_path / "m" / "tokenizer.json"))
    with pytest.raises(BadCheckpoint, match="token 10"):
        load(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").write_text("{}")
    with pytest.raises(BadCheckpoint, match="cannot load"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"weights": np.full(len(PIECES), np.nan, np.float32)}, "`weights` must be one row of finite numbers"),
        ({"weights": np.ones((len(PIECES), 2), np.float32)}, "`weights` must be one row"),
        ({"weights": np.full(len(PIECES), -1, np.float32)}, "`weights` holds a number below 0"),
        ({"mapping": np.zeros(len(PIECES), np.float32)}, "`mapping` must be one row of whole numbers"),
        ({"embeddings": np.ones(len(PIECES), np.float32)}, "`embeddings` has 1 dimensions"),
        ({"embeddings": np.ones((len(PIECES), 2, 2), np.float32)}, "`embeddings` has 3 dimensions"),
    ],
)
def test_malformed_tensors_of_model2vec_are_rejected(
    tmp_path: Path, tensors: dict[str, np.ndarray], message: str
) -> None:
    vectors = random_vectors(len(PIECES))
    StaticModel(vectors, wordpiece()).save_pretrained(tmp_path / "m")
    save_file({"embeddings": vectors, **tensors}, tmp_path / "m" / "model.safetensors")
    with pytest.raises(BadCheckpoint, match=message):
        load(tmp_path / "m")


def test_the_first_vector_of_glove_equals_the_published_one(data: Path) -> None:
    [the] = embedded(load(data / "vectors" / "glove6B_50d_5k.npz"), "The")
    assert the.vectors[0, :3] == pytest.approx([0.418, 0.24968, -0.41242], abs=1e-3)
