"""Build the two parts of a corpus from documents."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semblance_lab.evaluation.contamination import normal_form
from semblance_lab.origin.corpus.corpus import COLUMNS, DOCUMENTS, Corpus
from semblance_lab.origin.corpus.documents import CorpusDocument
from semblance_lab.origin.errors import BadCorpus
from semblance_lab.origin.origin_folder import CORPUS_PARTS, CorpusPart
from semblance_lab.origin.origin_settings import CorpusSettings

MIN_RUN = 3  # sentences in order, so that one of them has both neighbors
BATCH = 10_000  # sentences per batch of a file
LEFT_OUT = -1  # in place of a part's number

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
class CorpusCounts:
    """Counts of everything read, by outcome, and sizes of each part; keys in `origin.json`."""

    read: dict[str, int]
    parts: dict[CorpusPart, dict[str, int]]


@dataclass(frozen=True, slots=True)
class _DocumentKey:
    """Name of a document, and the hash of its content, which decides its part."""

    name: str
    content: bytes


def build_corpus(
    documents: Iterable[CorpusDocument],
    evaluated: Collection[str],
    settings: CorpusSettings,
    folder: Path,
    scratch: Path,
) -> CorpusCounts:
    """Write the files that `Corpus` opens.

    A document with the content of an earlier one is left out. A sentence ends the run of its document, and is left out
    itself, if it has no letter and no digit, if an evaluation uses it, or if it repeats an earlier sentence of its
    document or of a kept one. Runs of fewer than three sentences are left out, since they have no context. Texts are
    compared by their normal forms. So no sentence is in both parts.

    Which documents are held out, and which of the others are used, depends on the seed and on their content, not on
    their names or order. A smaller share is a subset of a larger one, with the same documents held out.

    Memory: one document at a time, and the hash of every kept sentence.

    Args:
        documents: in any order.
        evaluated: normal forms of the sentences to leave out.
        settings: the section `corpus`.
        folder: an empty one, for the result.
        scratch: an empty one, for temporary files of the same size.

    Raises:
        BadCorpus: fewer than two documents have three sentences in order.
    """
    staged = scratch / "staged.arrow"
    sentences = _SentenceFilter(evaluated)
    keys, kept = _stage(documents, sentences, settings.chunk_sentences, staged)
    _require_two(keys, sentences.counts)
    part_of = _assign_parts(keys, settings)
    (folder / DOCUMENTS).write_text(json.dumps(_names(keys, part_of), ensure_ascii=False) + "\n", "utf-8")
    distribute(staged, part_of, [folder / f"{part}.arrow" for part in CORPUS_PARTS])
    parts = {part: _sizes(Corpus.open(folder, part)) for part in CORPUS_PARTS}
    used = sum(sizes["sentences"] for sizes in parts.values())
    not_drawn = {NOT_DRAWN: int((part_of == LEFT_OUT).sum()), OF_NOT_DRAWN: kept - used}
    return CorpusCounts({**sentences.counts, **not_drawn}, parts)


def _stage(
    documents: Iterable[CorpusDocument], sentences: _SentenceFilter, chunk_sentences: int, file: Path
) -> tuple[list[_DocumentKey], int]:
    """Write the remaining runs; returns keys of their documents, and how many sentences."""
    keys = []
    with _sentence_file(file) as arrow:
        writer = SentenceWriter(arrow)
        for document in documents:
            if runs := sentences.runs(document):
                keys.append(_DocumentKey(document.name, sentences.content))
                for run in runs:
                    writer.add_run(len(keys) - 1, run, chunk_sentences)
        writer.flush()
    return keys, writer.sentences


class _SentenceFilter:
    """Removes duplicates, evaluated sentences and short runs, and counts them.

    Attributes:
        counts: by outcome.
        content: hash of the latest document.
    """

    def __init__(self, evaluated: Collection[str]) -> None:
        self.counts = Counter(dict.fromkeys(_READ, 0))
        self.content = b""
        self._evaluated = evaluated
        self._documents: set[bytes] = set()
        self._sentences: set[int] = set()

    def runs(self, document: CorpusDocument) -> list[list[str]]:
        """The remaining runs of a document, of three sentences or more."""
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
        runs = self._long_runs(zip(sentences, forms, strict=True))
        self._sentences.update(hashed for run in runs for _, hashed in run)
        self.counts[NO_ORDER] += not runs
        return [[sentence for sentence, _ in run] for run in runs]

    def _long_runs(self, sentences: Iterable[tuple[str, str]]) -> list[list[tuple[str, int]]]:
        """Runs of at least `MIN_RUN` sentences, with the hash of each sentence."""
        runs: list[list[tuple[str, int]]] = [[]]
        own: set[int] = set()
        for sentence, form in sentences:
            hashed = int.from_bytes(_hash(form)[:8])  # in a set, a third of the memory of the text
            reason = REPEATED if hashed in own else self._reason_against(form, hashed)
            if reason is None:
                own.add(hashed)
                runs[-1].append((sentence, hashed))
            else:
                self.counts[reason] += 1
                runs.append([])
        self.counts[ALONE] += sum(len(run) for run in runs if len(run) < MIN_RUN)
        return [run for run in runs if len(run) >= MIN_RUN]

    def _reason_against(self, form: str, hashed: int) -> str | None:
        if not form:
            return WORDLESS
        if form in self._evaluated:
            return EVALUATED
        return REPEATED if hashed in self._sentences else None


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _require_two(keys: Sequence[_DocumentKey], counts: Counter[str]) -> None:
    if len(keys) >= 2:
        return
    outcome = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if not keys:
        raise BadCorpus(
            f"no document has three sentences in order ({outcome or 'nothing read'}): give running text, the lines of "
            "a document together and in order"
        )
    raise BadCorpus(
        f"only one document, {keys[0].name}, has three sentences in order ({outcome}), but some must be held out for "
        "tests: give at least two, such as its chapters as a file each"
    )


def _assign_parts(keys: Sequence[_DocumentKey], settings: CorpusSettings) -> NDArray[np.int8]:
    """(documents,) the number of the part of each, or LEFT_OUT."""

    def ranked(documents: Iterable[int], purpose: str) -> list[int]:
        return sorted(
            documents,
            key=lambda at: hashlib.sha256(f"{settings.seed} {purpose} ".encode() + keys[at].content).digest(),
        )

    count = len(keys)
    by_hash = ranked(range(count), "held out")
    held_out = min(math.ceil(settings.held_out * count), count - 1)
    others = ranked(by_hash[held_out:], "share")
    used = others[: math.ceil(settings.share * len(others))]
    part_of = np.full(count, LEFT_OUT, np.int8)
    part_of[used] = CORPUS_PARTS.index("train")
    part_of[by_hash[:held_out]] = CORPUS_PARTS.index("held_out")
    return part_of


def _names(keys: Sequence[_DocumentKey], part_of: NDArray[np.int8]) -> dict[CorpusPart, list[str]]:
    """Names of the documents of each part."""
    return {
        part: [key.name for key, number in zip(keys, part_of.tolist(), strict=True) if number == at]
        for at, part in enumerate(CORPUS_PARTS)
    }


def _sizes(corpus: Corpus) -> dict[str, int]:
    return {
        "documents": len(corpus.names),
        "runs": int(corpus.run[-1]) + 1,
        "chunks": corpus.chunks,
        "sentences": len(corpus),
        "contexts": len(corpus.contexts()),
        "words": sum(len(text.split()) for text in corpus),
    }


@contextmanager
def _sentence_file(file: Path) -> Iterator[pa.RecordBatchFileWriter]:
    """Writer of an Arrow file of numbered sentences; complete after the `with` block."""
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, COLUMNS) as writer:
        yield writer


class SentenceWriter:
    """Numbers the sentences of runs and writes them in batches, the last of them by `flush`.

    Attributes:
        sentences: number of those added in runs.
    """

    def __init__(self, writer: pa.RecordBatchFileWriter) -> None:
        self._writer = writer
        self._rows: list[tuple[str, int, int, int]] = []
        self.sentences = self._runs = self._chunks = 0

    def add_run(self, document: int, sentences: Sequence[str], chunk_sentences: int) -> None:
        """Add a run, in chunks of similar length, of at most `chunk_sentences` sentences."""
        chunks = -(-len(sentences) // chunk_sentences)
        for at, sentence in enumerate(sentences):
            self._rows.append((sentence, document, self._runs, self._chunks + at * chunks // len(sentences)))
        self.sentences += len(sentences)
        self._runs += 1
        self._chunks += chunks
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are not written yet."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, COLUMNS.types, strict=True)]
            self._writer.write_batch(pa.record_batch(arrays, schema=COLUMNS))
            self._rows.clear()


def distribute(staged: Path, part_of: NDArray[np.int8], files: Sequence[Path]) -> None:
    """Write the sentences of each part into its file, renumbered from 0.

    Args:
        staged: a file that `SentenceWriter` wrote.
        part_of: (documents,) the number of the file of each document, or LEFT_OUT.
        files: one per part.
    """
    numberings = [[_Numbering() for _ in COLUMNS.names[1:]] for _ in files]
    with ExitStack() as stack:
        source = stack.enter_context(pa.memory_map(str(staged)))
        writers = [stack.enter_context(_sentence_file(file)) for file in files]
        reader = pa.ipc.open_file(source)
        for at in range(reader.num_record_batches):
            batch = reader.get_batch(at)
            parts = part_of[batch["document"].to_numpy()]
            for part, writer in enumerate(writers):
                own = batch.filter(pa.array(parts == part))
                if len(own):
                    numbers = zip(numberings[part], own.columns[1:], strict=True)
                    writer.write_batch(
                        pa.record_batch(
                            [own["text"], *(pa.array(each(column.to_numpy())) for each, column in numbers)],
                            schema=COLUMNS,
                        )
                    )


class _Numbering:
    """Maps ascending numbers with gaps to 0, 1, 2, ..., over any number of batches."""

    def __init__(self) -> None:
        self._old = self._new = -1

    def __call__(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        renumbered = self._new + np.cumsum(np.diff(numbers, prepend=np.int32(self._old)) != 0)
        self._old, self._new = int(numbers[-1]), int(renumbered[-1])
        return renumbered.astype(np.int32)
