"""Pairs of sentences scored by a slow teacher, shard by shard, for a fast encoder to learn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from models.embeddings import Doubles
from models.origin.drawing import Bundle, Chunks, Drawing, Mixture, Sentences
from models.origin.errors import BadHarvest
from models.origin.scoring import FORMS, Form
from models.origin.shard import COLUMNS, Shard


class Teacher(Protocol):
    """What scores."""

    def about(self) -> Mapping[str, Any]:
        """What its scores depend on: digests of models and corpus, and settings, as JSON has them."""

    def all_pairs(self, texts: Sequence[str]) -> Mapping[Form, Doubles]:
        """Every text with every text, (n, n), in each form."""


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of a harvest is done here: the `number`-th, from 1 on, of `of`."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """Read what is written as i/n.

        Raises:
            BadHarvest: it is no such thing, or i is not from 1 to n.

        >>> Share.parse("2/3")
        Share(number=2, of=3)
        """
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise BadHarvest(f"a shard is written i/n, with i from 1 to n: not {text!r}")
        return cls(int(number), int(of))


@dataclass(frozen=True, slots=True)
class Plan:
    """A harvest.

    Attributes:
        pairs: how many there are to be in all shards together, rounded up to whole bundles.
        seed: of all draws.
        mixture: what bundles hold.
        bundles_a_file: bundles that are written together, and so lost together in a crash.
    """

    pairs: int
    seed: int = 0
    mixture: Mixture = field(default_factory=Mixture)
    bundles_a_file: int = 8

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise BadHarvest(f"there must be a pair to harvest, not {self.pairs}")

    @property
    def bundles(self) -> int:
        """Bundles in all shards together."""
        return math.ceil(self.pairs / self.mixture.pairs)

    def files(self, share: Share) -> list[range]:
        """The numbers of the bundles in each file of a shard."""
        own = range(share.number - 1, self.bundles, share.of)
        return [own[i : i + self.bundles_a_file] for i in range(0, len(own), self.bundles_a_file)]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a shard is: bundles of bundles, pairs, those of them that lay there at the start, and damaged files."""

    bundles: int
    of: int
    pairs: int
    found: int
    damaged: Sequence[str]


@dataclass(frozen=True, slots=True)
class Source:
    """What is harvested: a corpus with its screening, by a teacher."""

    corpus: Sentences
    screening: Chunks
    teacher: Teacher


def harvest(source: Source, plan: Plan, share: Share, out: Path, report: Callable[[Progress], None]) -> Progress:
    """Score the pairs of a shard, and write them into its folder in `out`; go on where that was cut off.

    Of bundles that have a pair in common the first of the shard has it; other shards may have it too, and
    `models.origin.harvested` keeps one. A file that is damaged is reported, and made anew.

    Args:
        source: what is harvested.
        plan: how much of it, the same for all shards.
        share: which shard.
        out: a folder, which shards may share.
        report: is told after every bundle.

    Raises:
        BadHarvest: another harvest lies there, another process writes there, a disk is full, or there are fewer
            sentences to begin a bundle with than there are to be bundles.
        BadCorpus: there are fewer sentences than a bundle holds.
    """
    drawing = Drawing(source.corpus, source.screening, plan.mixture, plan.seed)
    if plan.bundles > len(drawing):
        most = len(drawing) * plan.mixture.pairs
        raise BadHarvest(f"the corpus has sentences for {most:,} pairs, not for {plan.pairs:,}: ask for fewer")
    shard = Shard(out / f"shard-{share.number}-of-{share.of}")
    about = {
        "semblance": version("semblance"),
        "teacher": source.teacher.about(),
        **asdict(plan),
        "shard": asdict(share),
    }
    with shard.claimed(about):
        return _Worker(source, drawing, shard, report).work(plan.files(share))


class _Worker:
    """Does one shard."""

    def __init__(self, source: Source, drawing: Drawing, shard: Shard, report: Callable[[Progress], None]) -> None:
        self._source, self._drawing, self._shard, self._report = source, drawing, shard, report
        self._seen: set[tuple[int, int]] = set()
        self._damaged: list[str] = []

    def work(self, files: Sequence[range]) -> Progress:
        whole = self._found()
        found, left = len(self._seen), {i: numbers for i, numbers in enumerate(files) if i not in whole}
        of = sum(map(len, files))
        done = of - sum(map(len, left.values()))
        progress = Progress(done, of, found, found, self._damaged)
        self._report(progress)
        for number, numbers in left.items():
            rows: list[Mapping[str, object]] = []
            for bundle in map(self._drawing.bundle, numbers):
                rows += self._scored(bundle)
                done += 1
                progress = Progress(done, of, len(self._seen), found, self._damaged)
                self._report(progress)
            self._shard.write(number, pa.Table.from_pylist(rows, COLUMNS))
        return progress

    def _found(self) -> set[int]:
        """The files that are whole; damaged ones are removed."""
        whole = set()
        for number, file in self._shard.files().items():
            try:
                table = self._shard.read(file)
            except BadHarvest as error:
                self._damaged.append(str(error))
                file.unlink(missing_ok=True)
                continue
            whole.add(number)
            self._seen.update(zip(table["number1"].to_pylist(), table["number2"].to_pylist(), strict=True))
        return whole

    def _scored(self, bundle: Bundle) -> Iterator[Mapping[str, object]]:
        texts = self._source.corpus.texts(bundle.sentences)
        scores = self._source.teacher.all_pairs(texts)
        for i, j in bundle.pairs():
            numbers = bundle.sentences[i], bundle.sentences[j]
            if numbers in self._seen or numbers[::-1] in self._seen:
                continue
            self._seen.add(numbers)
            yield {
                "sentence1": texts[i],
                "sentence2": texts[j],
                **{form: float(scores[form][i, j]) for form in FORMS},
                "kind": f"{bundle.kinds[i]}-{bundle.kinds[j]}",
                "bundle": bundle.number,
                "number1": numbers[0],
                "number2": numbers[1],
            }
