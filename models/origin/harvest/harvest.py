"""Pairs of sentences scored by a slow teacher, shard by shard, for a fast encoder to learn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.sampling import Bundle, Drawing, Mixture, Sentences
from semblance.models.origin.harvest.shard import COLUMNS, Shard
from semblance.models.origin.scoring.parts import ChunkSearch
from semblance.models.origin.scoring.scoring import FORMS, Form


@dataclass(frozen=True, slots=True, eq=False)
class AllPairs:
    """What a teacher says of n texts.

    Attributes:
        scores: every text with every text, (n, n), in each form.
        fallback: (n,) whether a text was scored in the contexts of the nearest sentences, for want of better ones.
    """

    scores: Mapping[Form, Doubles]
    fallback: NDArray[np.bool_]


class Teacher(Protocol):
    """What scores."""

    def about(self) -> Mapping[str, Any]:
        """What its scores depend on: digests of models and corpus, and settings, as JSON has them."""

    def all_pairs(self, texts: Sequence[str]) -> AllPairs:
        """Every text with every text."""


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


def read_plan(about: Mapping[str, Any]) -> tuple[Plan, Share]:
    """The harvest that a shard says it is of, and which share.

    Raises:
        BadHarvest: it does not say so, or in the words of another version.
    """
    try:
        mixture, share = Mixture(**about["mixture"]), Share(**about["shard"])
        plan = Plan(**{name: about[name] for name in ("pairs", "seed", "bundles_a_file")}, mixture=mixture)
        numbers = [plan.seed, *asdict(mixture).values()], [plan.pairs, plan.bundles_a_file, mixture.pairs]
        if not all(isinstance(number, int) and number >= least for least in (0, 1) for number in numbers[least]):
            raise BadHarvest("a number is too low, or none")
        if {"mixture": asdict(mixture), "shard": asdict(share)} != {name: about[name] for name in ("mixture", "shard")}:
            raise BadHarvest("mixture and shard do not say all")
        Share.parse(f"{share.number}/{share.of}")
        if not isinstance(about["teacher"], Mapping):
            raise BadHarvest("the teacher does not say what it is")
    except KeyError as error:
        raise BadHarvest(f"there is no {error.args[0]!r}") from error
    except TypeError as error:
        raise BadHarvest(str(error)) from error
    return plan, share


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a shard is.

    Attributes:
        bundles: that are done.
        of: bundles of the shard.
        pairs: that are scored.
        found: those of them that lay there at the start.
        fallback: those of them with a sentence that was scored in the contexts of the nearest sentences.
        damaged: what is wrong with the files that are made anew.
    """

    bundles: int
    of: int
    pairs: int
    found: int
    fallback: int
    damaged: Sequence[str]


@dataclass(frozen=True, slots=True)
class Source:
    """What is harvested: a corpus with its screening, by a teacher.

    `readable` says of each sentence of the corpus whether the teacher reads it to its end: others are not drawn.
    """

    corpus: Sentences
    screening: ChunkSearch
    readable: NDArray[np.bool_]
    teacher: Teacher


def harvest(source: Source, plan: Plan, share: Share, out: Path, report: Callable[[Progress], None]) -> Progress:
    """Score the pairs of a shard, and write them into its folder in `out`; go on where that was cut off.

    Of bundles that have a pair in common the first of the shard has it; other shards may have it too, and
    `semblance.models.origin.harvest.harvested` keeps one. A file that is damaged is reported, and made anew.

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
    drawing = Drawing(source.corpus, source.screening, source.readable, plan.mixture, plan.seed)
    if plan.bundles > len(drawing):
        most = len(drawing) * plan.mixture.pairs
        raise BadHarvest(f"the corpus has sentences for {most:,} pairs, not for {plan.pairs:,}: ask for fewer")
    shard = Shard(out / f"shard-{share.number}-of-{share.of}")
    about = {
        "semblance": version("semblance-server"),
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
        self._fallback = 0
        self._damaged: list[str] = []

    def work(self, files: Sequence[range]) -> Progress:
        whole = self._found()
        found, left = len(self._seen), {i: numbers for i, numbers in enumerate(files) if i not in whole}
        of = sum(map(len, files))
        done = of - sum(map(len, left.values()))
        progress = Progress(done, of, found, found, self._fallback, self._damaged)
        self._report(progress)
        for number, numbers in left.items():
            rows: list[Mapping[str, object]] = []
            for bundle in map(self._drawing.bundle, numbers):
                rows += self._scored(bundle)
                done += 1
                progress = Progress(done, of, len(self._seen), found, self._fallback, self._damaged)
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
            self._fallback += sum(table["fallback"].to_pylist())
        return whole

    def _scored(self, bundle: Bundle) -> Iterator[Mapping[str, object]]:
        texts = self._source.corpus.texts(bundle.sentences)
        said = self._source.teacher.all_pairs(texts)
        for i, j in bundle.pairs():
            numbers = bundle.sentences[i], bundle.sentences[j]
            if numbers in self._seen or numbers[::-1] in self._seen:
                continue
            self._seen.add(numbers)
            fallback = bool(said.fallback[i] or said.fallback[j])
            self._fallback += fallback
            yield {
                "sentence1": texts[i],
                "sentence2": texts[j],
                **{form: float(said.scores[form][i, j]) for form in FORMS},
                "kind": f"{bundle.kinds[i]}-{bundle.kinds[j]}",
                "bundle": bundle.number,
                "number1": numbers[0],
                "number2": numbers[1],
                "fallback": fallback,
            }
