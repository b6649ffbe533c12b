"""The pieces of words that the networks know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers import models as kinds
from tokenizers.trainers import WordLevelTrainer, WordPieceTrainer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from semblance.models.origin.errors import BadOrigin

PAD, UNKNOWN, START, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"


class Vocabulary:
    """A fast tokenizer with a start and an end marker.

    Attributes:
        size: how many ids there are.
        pad, start, end, unknown: the ids of the special tokens; in BERT's words [PAD], [CLS], [SEP] and [UNK].
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._saved = tokenizer
        self._tokenizer: Tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.size = len(tokenizer)
        self.pad, self.start, self.end, self.unknown = (
            _special(tokenizer, kind, other)
            for kind, other in (("pad", ""), ("cls", "bos"), ("sep", "eos"), ("unk", ""))
        )

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> Vocabulary:
        """WordPiece as in BERT, in lower case but with its accents, which in many scripts are vowels.

        The same texts give the same pieces: the library breaks ties by the order in which it meets characters, which it
        draws anew in every process, so they are given to it in the order of the words that they first stand in.

        Args:
            texts: what to learn from, gone through twice; an iterator is held in memory.
            size: how many pieces, the five special tokens included; fewer where the texts have no more. Single
                characters take at most half of them, so that the rarest of a large script are unknown.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        pieces, characters = _alphabet(_words(texts), (size - len(SPECIAL)) // 2)
        learning = _bare(kinds.WordPiece(unk_token=UNKNOWN))
        learning.train_from_iterator(
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
        return cls(_with_markers(_bare(kinds.WordPiece(learning.get_vocab(), unk_token=UNKNOWN))))

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """What `save` wrote, in a folder such as `runs/origin/vocabulary`.

        Raises:
            BadOrigin: there is none.
        """
        if not (folder / "tokenizer.json").exists():
            raise BadOrigin(f"{folder} holds no vocabulary: make it by `semblance origin corpus`")
        return cls.of(folder)

    @classmethod
    def of(cls, folder: Path) -> Vocabulary:
        """The vocabulary of a transformer's folder.

        Raises:
            BadOrigin: it has no fast tokenizer, or that has no padding, start, end or unknown token.
        """
        try:
            found = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            raise BadOrigin(f"transformers cannot load the tokenizer of {folder}: {error}") from error
        if not found.is_fast:
            raise BadOrigin(f"{folder} has no fast tokenizer (tokenizer.json)")
        return cls(found)

    def save(self, folder: Path) -> None:
        """Write the files that AutoTokenizer reads, also where they lie beside the network of a BERT."""
        self._saved.save_pretrained(str(folder))

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[NDArray[np.int32]]:
        """The ids of each text without special tokens, cut to the first `max_tokens`; at least the unknown one."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(each.ids[:max_tokens] or [self.unknown], np.int32) for each in encodings]


def _special(tokenizer: PreTrainedTokenizerBase, kind: str, other: str) -> int:
    for name in (kind, other):
        found = getattr(tokenizer, f"{name}_token_id", None)
        if found is not None:
            return int(found)
    raise BadOrigin(f"the tokenizer of {tokenizer.name_or_path} has no {kind} token")


def _bare(kind: kinds.Model) -> Tokenizer:
    """A tokenizer that cuts texts into words as BERT's does."""
    tokenizer = Tokenizer(kind)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _words(texts: Iterable[str]) -> list[str]:
    """All words, the commonest first."""
    counting = _bare(kinds.WordLevel())
    counting.train_from_iterator(texts, WordLevelTrainer(vocab_size=2**31, show_progress=False))
    ranks = counting.get_vocab()
    return sorted(ranks, key=ranks.__getitem__)


def _alphabet(words: Iterable[str], most: int) -> tuple[list[str], list[str]]:
    """At most so many pieces of one character, and their characters; those that words begin with first come first."""
    forms: dict[str, set[str]] = {}  # a character -> how it stands in words: at the beginning, or further on
    for word in words:
        for at, character in enumerate(word):
            forms.setdefault(character, set()).add((CONTINUES if at else "") + character)
    pieces: list[str] = []
    characters: list[str] = []
    for character, its in forms.items():
        if len(pieces) + len(its) > most:
            break
        pieces += sorted(its)
        characters.append(character)
    return pieces, characters


def _with_markers(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers saves it; not as BERT's own class, which would put its normaliser in our place."""
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
