"""Subword vocabulary of the networks, and token ids of all sentences, memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers import models as tokenizer_models
from tokenizers.trainers import WordLevelTrainer, WordPieceTrainer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from semblance.models.files.lines import Advance
from semblance_lab.origin.corpus.corpus import Corpus, growing_array, open_mapped
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import CorpusPart

PAD, UNKNOWN, START, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"


class Vocabulary:
    """A fast tokenizer with a start and an end marker.

    Attributes:
        size: number of ids.
        pad, start, end, unknown: ids of the special tokens; in BERT [PAD], [CLS], [SEP] and [UNK].
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._pretrained = tokenizer
        self._tokenizer: Tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.size = len(tokenizer)
        self.pad, self.start, self.end, self.unknown = (
            _special_id(tokenizer, kind, alternative)
            for kind, alternative in (("pad", ""), ("cls", "bos"), ("sep", "eos"), ("unk", ""))
        )

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> Vocabulary:
        """Train WordPiece as in BERT, lower-cased but with accents, vowels in many scripts.

        The same texts give the same subwords. The library breaks ties by the order in which it meets characters, which
        is random in every process, so they are passed to it in the order of the words that they first occur in.

        Args:
            texts: training texts, iterated twice; an iterator is read into memory.
            size: number of subwords, the five special tokens included; fewer if the texts have no more. Single
                characters take at most half of them, so that the rarest characters of a large script are unknown.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        pieces, characters = _alphabet(_words(texts), (size - len(SPECIAL)) // 2)
        trained = _bert_tokenizer(tokenizer_models.WordPiece(unk_token=UNKNOWN))
        trained.train_from_iterator(
            texts,
            WordPieceTrainer(
                vocab_size=size,
                min_frequency=2,
                special_tokens=[*SPECIAL, *pieces],
                initial_alphabet=characters,
                limit_alphabet=len(characters),
                continuing_subword_prefix=CONTINUES,
                show_progress=False,
            ),
        )
        model = tokenizer_models.WordPiece(trained.get_vocab(), unk_token=UNKNOWN)
        return cls(_with_special_tokens(_bert_tokenizer(model)))

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Open what `save` wrote, in a folder such as `runs/origin/vocabulary`.

        Raises:
            BadOrigin: it is missing or broken.
        """
        if not (folder / "tokenizer.json").exists():
            raise BadOrigin(f"{folder} contains no vocabulary; run `semblance origin corpus`")
        return cls.of(folder)

    @classmethod
    def of(cls, folder: Path) -> Vocabulary:
        """Read the vocabulary of a transformer's folder.

        Raises:
            BadOrigin: it has no fast tokenizer, or that has no padding, start, end or unknown token.
        """
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            raise BadOrigin(f"transformers cannot load the tokenizer of {folder}: {error}") from error
        if not tokenizer.is_fast:
            raise BadOrigin(f"{folder} has no fast tokenizer (tokenizer.json)")
        return cls(tokenizer)

    def save(self, folder: Path) -> None:
        """Write files for AutoTokenizer, which also reads them beside the network of a BERT."""
        self._pretrained.save_pretrained(str(folder))

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[NDArray[np.int32]]:
        """Ids of each text without special tokens, truncated to `max_tokens`; never empty."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids[:max_tokens] or [self.unknown], np.int32) for encoding in encodings]


def _special_id(tokenizer: PreTrainedTokenizerBase, kind: str, alternative: str) -> int:
    for name in (kind, alternative):
        number = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None:
            return int(number)
    raise BadOrigin(f"the tokenizer of {tokenizer.name_or_path} has no {kind} token")


def _bert_tokenizer(model: tokenizer_models.Model) -> Tokenizer:
    """Create a tokenizer that splits texts into words like BERT's."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _words(texts: Iterable[str]) -> list[str]:
    """All words, most frequent first."""
    counter = _bert_tokenizer(tokenizer_models.WordLevel())
    counter.train_from_iterator(texts, WordLevelTrainer(vocab_size=2**31, show_progress=False))
    ranks = counter.get_vocab()
    return sorted(ranks, key=ranks.__getitem__)


def _alphabet(words: Iterable[str], limit: int) -> tuple[list[str], list[str]]:
    """At most `limit` single-character subwords, and their characters, by first occurrence."""
    forms: dict[str, set[str]] = {}  # character -> its subwords: at the beginning of words, or further on
    for word in words:
        for at, character in enumerate(word):
            forms.setdefault(character, set()).add((CONTINUES if at else "") + character)
    pieces: list[str] = []
    characters: list[str] = []
    for character, subwords in forms.items():
        if len(pieces) + len(subwords) > limit:
            break
        pieces += sorted(subwords)
        characters.append(character)
    return pieces, characters


def _with_special_tokens(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """Wrap the tokenizer for transformers; BERT's own class would replace our normalizer."""
    markers = [(token, tokenizer.token_to_id(token)) for token in (START, END)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", pair=f"{START} $A {END} $B:1 {END}:1", special_tokens=markers
    )
    tokenizer.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        cls_token=START,
        sep_token=END,
        mask_token=MASK,
    )


BATCH = 10_000  # sentences tokenized at once


class TokenTable:
    """Token ids of n sentences, concatenated in a memory-mapped file, and their offsets.

    Attributes:
        lengths: (n,) number of tokens of each sentence; at least one.
    """

    def __init__(self, ids: NDArray[np.integer[Any]], offsets: NDArray[np.int64]) -> None:
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)

    @classmethod
    def open(cls, folder: Path, part: CorpusPart = "train") -> TokenTable:
        """Open the table of a part of the corpus, in a folder such as `runs/origin/tokens`.

        Raises:
            BadOrigin: it is missing or broken.
        """
        ids, offsets = (
            open_mapped(folder / f"{part}-{what}.npy", "semblance origin corpus") for what in ("ids", "offsets")
        )
        if not len(offsets) or offsets[-1] != len(ids):
            raise BadOrigin(f"{folder} is broken: {part}-offsets.npy does not belong to {part}-ids.npy")
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        """Total number of tokens."""
        return len(self._ids)

    def rows(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> list[NDArray[np.int32]]:
        """Token ids of the sentences with these numbers, in this order."""
        at = np.asarray(numbers, np.int64)
        starts, ends = self._offsets[at].tolist(), self._offsets[at + 1].tolist()
        return [self._ids[start:end].astype(np.int32) for start, end in zip(starts, ends, strict=True)]


def write_token_table(corpus: Corpus, vocabulary: Vocabulary, max_tokens: int, folder: Path, advance: Advance) -> None:
    """Write the files that `TokenTable` opens, in one pass.

    Args:
        corpus: one part of a corpus.
        vocabulary: encodes the sentences; ids are stored in two bytes if all of them fit.
        max_tokens: a sentence is truncated to.
        folder: of the files, shared by both parts.
        advance: progress callback: receives the number of new sentences encoded.
    """
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.int32
    ids_file, offsets_file = (folder / f"{corpus.part}-{what}.npy" for what in ("ids", "offsets"))
    with growing_array(ids_file, dtype) as add_ids, growing_array(offsets_file, np.int64) as add_offsets:
        end = 0
        add_offsets(np.zeros(1, np.int64))
        for texts in _batches(corpus):
            rows = vocabulary.encode(texts, max_tokens)
            ends = end + np.cumsum([len(row) for row in rows])
            add_ids(np.concatenate(rows))
            add_offsets(ends)
            end = int(ends[-1])
            advance(len(texts))


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of at most `BATCH` texts."""
    rest = iter(texts)
    while batch := list(islice(rest, BATCH)):
        yield batch
