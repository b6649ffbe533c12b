"""From documents to the two parts of a corpus."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semblance.models.evaluation.contamination import normal_form
from semblance.models.origin.corpus.corpus import DOCUMENTS, PARTS, Corpus, Part
from semblance.models.origin.corpus.corpus_writer import LEFT_OUT, SentenceWriter, distribute
from semblance.models.origin.corpus.documents import Document
from semblance.models.origin.errors import BadCorpus
from semblance.models.origin.origin_settings import CorpusSettings

LEAST = 3  # sentences in order, so that one of them has both neighbours

DOCUMENTS_READ = "documents read"
PARAGRAPHS_READ = "paragraphs read"
SENTENCES_READ = "sentences read"
DUPLICATES = "documents that came before"
NO_ORDER = "documents without three sentences in order"
OF_DUPLICATES = "sentences of documents that came before"
WORDLESS = "sentences without a letter or a digit"
EVALUATED = "sentences that an evaluation asks for"
REPEATED = "sentences that came before"
ALONE = "sentences with fewer than two others beside them"
NOT_DRAWN = "documents outside the share that is used"
OF_NOT_DRAWN = "sentences outside the share that is used"
_READ = (
    *(DOCUMENTS_READ, PARAGRAPHS_READ, SENTENCES_READ),
    *(DUPLICATES, NO_ORDER, OF_DUPLICATES, WORDLESS, EVALUATED, REPEATED, ALONE),
)


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of what: what became of all that was read, and what each part holds."""

    read: dict[str, int]
    parts: dict[Part, dict[str, int]]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A document that is not left out: its name and the hash of its content, by which it is drawn."""

    name: str
    content: bytes


def build_corpus(
    documents: Iterable[Document], evaluated: Collection[str], settings: CorpusSettings, folder: Path, scratch: Path
) -> Counts:
    """Write the files that `Corpus` opens.

    A document that says the same as an earlier one is left out. A sentence breaks the run of its document, and is in
    no part itself, where it has no letter and no digit, where an evaluation asks for it, or where it came before, in
    the same document or in what was kept of earlier ones; runs of fewer than three sentences are left out, since they
    have no context. What is the same is decided by normal forms. So no sentence is in both parts.

    Which documents are held out, and which of the others are used, depends on the seed and on what they say: not on
    their names or order. A smaller share is a part of a larger one, with the same documents held out.

    Memory holds a document at a time, and the hash of every sentence that is kept.

    Args:
        documents: in any order.
        evaluated: normal forms of the sentences to keep out.
        settings: the section `corpus`.
        folder: an empty one, for what is made.
        scratch: an empty one, for what is only needed on the way, as much again.

    Raises:
        BadCorpus: fewer than two documents have three sentences in order.
    """
    staged = scratch / "staged.arrow"
    sorting = _Sorting(evaluated)
    with SentenceWriter(staged) as writer:
        kept = []
        for document in documents:
            if runs := sorting.runs(document):
                kept.append(_Kept(document.name, sorting.content))
                for run in runs:
                    writer.add_run(len(kept) - 1, run, settings.chunk_sentences)
    _require_two(kept, sorting.counts)
    part_of = _drawn(kept, settings)
    names = {
        part: [each.name for each, its in zip(kept, part_of.tolist(), strict=True) if its == at]
        for at, part in enumerate(PARTS)
    }
    (folder / DOCUMENTS).write_text(json.dumps(names, ensure_ascii=False) + "\n", "utf-8")
    distribute(staged, part_of, [folder / f"{part}.arrow" for part in PARTS])
    parts = {part: _sizes(Corpus.open(folder, part)) for part in PARTS}
    used = sum(sizes["sentences"] for sizes in parts.values())
    not_drawn = {NOT_DRAWN: int((part_of == LEFT_OUT).sum()), OF_NOT_DRAWN: writer.sentences - used}
    return Counts({**sorting.counts, **not_drawn}, parts)


class _Sorting:
    """Sorts out what must not be in a corpus, and counts it; `content` is the hash of the document that came last."""

    def __init__(self, evaluated: Collection[str]) -> None:
        self.counts = Counter(dict.fromkeys(_READ, 0))
        self.content = b""
        self._evaluated = evaluated
        self._documents: set[bytes] = set()
        self._sentences: set[int] = set()

    def runs(self, document: Document) -> list[list[str]]:
        """What is kept of a document: stretches of three sentences or more."""
        sentences = list(chain.from_iterable(document.paragraphs))
        self.counts.update(
            {DOCUMENTS_READ: 1, PARAGRAPHS_READ: len(document.paragraphs), SENTENCES_READ: len(sentences)}
        )
        forms = list(map(normal_form, sentences))
        self.content = _hash("\n".join(forms))
        if self.content in self._documents:
            self.counts.update({DUPLICATES: 1, OF_DUPLICATES: len(sentences)})
            return []
        self._documents.add(self.content)
        found = self._unbroken(zip(sentences, forms, strict=True))
        self._sentences.update(hashed for run in found for _, hashed in run)
        self.counts[NO_ORDER] += not found
        return [[sentence for sentence, _ in run] for run in found]

    def _unbroken(self, said: Iterable[tuple[str, str]]) -> list[list[tuple[str, int]]]:
        """The runs of a document that are long enough, with the hash of each sentence."""
        runs: list[list[tuple[str, int]]] = [[]]
        own: set[int] = set()
        for sentence, form in said:
            hashed = int.from_bytes(_hash(form)[:8])  # in a set, a third of what the text takes
            reason = REPEATED if hashed in own else self._reason_against(form, hashed)
            if reason is None:
                own.add(hashed)
                runs[-1].append((sentence, hashed))
            else:
                self.counts[reason] += 1
                runs.append([])
        self.counts[ALONE] += sum(len(run) for run in runs if len(run) < LEAST)
        return [run for run in runs if len(run) >= LEAST]

    def _reason_against(self, form: str, hashed: int) -> str | None:
        if not form:
            return WORDLESS
        if form in self._evaluated:
            return EVALUATED
        return REPEATED if hashed in self._sentences else None


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _require_two(kept: Sequence[_Kept], counts: Counter[str]) -> None:
    if len(kept) >= 2:
        return
    become = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if not kept:
        raise BadCorpus(
            f"no document has three sentences in order ({become or 'nothing read'}): give running text, the lines of a "
            "document together and in their order"
        )
    raise BadCorpus(
        f"only one document, {kept[0].name}, has three sentences in order ({become}), and some are held out for tests: "
        "give at least two, such as its chapters as a file each"
    )


def _drawn(kept: Sequence[_Kept], settings: CorpusSettings) -> NDArray[np.int8]:
    """(documents,) the number of the part of each, or LEFT_OUT."""

    def ranked(of: Iterable[int], what: str) -> list[int]:
        return sorted(
            of, key=lambda at: hashlib.sha256(f"{settings.seed} {what} ".encode() + kept[at].content).digest()
        )

    count = len(kept)
    by_draw = ranked(range(count), "held out")
    held_out = min(math.ceil(settings.held_out * count), count - 1)
    others = ranked(by_draw[held_out:], "share")
    used = others[: math.ceil(settings.share * len(others))]
    part_of = np.full(count, LEFT_OUT, np.int8)
    part_of[used] = PARTS.index("train")
    part_of[by_draw[:held_out]] = PARTS.index("held_out")
    return part_of


def _sizes(corpus: Corpus) -> dict[str, int]:
    return {
        "documents": len(corpus.names),
        "runs": int(corpus.run[-1]) + 1,
        "chunks": corpus.chunks,
        "sentences": len(corpus),
        "contexts": len(corpus.contexts()),
        "words": sum(len(text.split()) for text in corpus),
    }
