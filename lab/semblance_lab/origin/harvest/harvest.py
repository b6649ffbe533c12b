"""Harvest: score sentence pairs by a slow teacher, shard by shard, to train a fast encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Integers
from semblance.models.files.digests import file_sha256
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.harvest.sampling import Bundle, BundleSampler, Mixture, SampledCorpus
from semblance_lab.origin.harvest.shard import COLUMNS, Shard
from semblance_lab.origin.scoring.scoring import FORMS, Form, relative_terms, scores, similarity
from semblance_lab.origin.scoring.term_table import ChunkSearch

if TYPE_CHECKING:
    from semblance_lab.origin.scoring.origin import Origin


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """A teacher's scores of n texts.

    Attributes:
        scores: (n, n) every text with every text, in each form.
        fallback: (n,) whether a text was scored in the contexts of the nearest sentences, for lack of better ones.
    """

    scores: Mapping[Form, Doubles]
    fallback: NDArray[np.bool_]


class Teacher(Protocol):
    """Scores pairs of texts."""

    def about(self) -> Mapping[str, Any]:
        """Everything that its scores depend on, such as digests and settings, as JSON values."""

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        """Score every text with every text."""


@dataclass(frozen=True, slots=True)
class ShardId:
    """A shard of a harvest: the `number`-th, from 1, of `of`."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> ShardId:
        """Parse i/n.

        Raises:
            BadHarvest: it does not have that form, or i is not from 1 to n.

        >>> ShardId.parse("2/3")
        ShardId(number=2, of=3)
        """
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise BadHarvest(f"a shard is written i/n, with i from 1 to n: not {text!r}")
        return cls(int(number), int(of))


@dataclass(frozen=True, slots=True)
class HarvestPlan:
    """Size and settings of a harvest; the names of its attributes are keys in `harvest.json`.

    Attributes:
        pairs: number in all shards, rounded up to whole bundles.
        seed: of all draws.
        mixture: composition of the bundles.
        bundles_a_file: bundles per file, the most that a crash loses.
    """

    pairs: int
    seed: int = 0
    mixture: Mixture = field(default_factory=Mixture)
    bundles_a_file: int = 8

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise BadHarvest(f"a harvest needs at least 1 pair, not {self.pairs}")

    @property
    def bundles(self) -> int:
        """Bundles in all shards."""
        return math.ceil(self.pairs / self.mixture.pairs)

    def files(self, shard_id: ShardId) -> list[range]:
        """Numbers of the bundles in each file of a shard."""
        own = range(shard_id.number - 1, self.bundles, shard_id.of)
        return [own[i : i + self.bundles_a_file] for i in range(0, len(own), self.bundles_a_file)]


def read_plan(about: Mapping[str, Any]) -> tuple[HarvestPlan, ShardId]:
    """Parse the provenance of a shard.

    Raises:
        BadHarvest: it is incomplete, or of another version.
    """
    try:
        mixture, shard_id = Mixture(**about["mixture"]), ShardId(**about["shard"])
        plan = HarvestPlan(**{name: about[name] for name in ("pairs", "seed", "bundles_a_file")}, mixture=mixture)
        numbers = [plan.seed, *asdict(mixture).values()], [plan.pairs, plan.bundles_a_file, mixture.pairs]
        if not all(isinstance(number, int) and number >= least for least in (0, 1) for number in numbers[least]):
            raise BadHarvest("a number is too low, or not an integer")
        parsed = {"mixture": asdict(mixture), "shard": asdict(shard_id)}
        if parsed != {name: about[name] for name in ("mixture", "shard")}:
            raise BadHarvest("mixture and shard are incomplete")
        ShardId.parse(f"{shard_id.number}/{shard_id.of}")
        if not isinstance(about["teacher"], Mapping):
            raise BadHarvest("the teacher is not described")
    except KeyError as error:
        raise BadHarvest(f"{error.args[0]!r} is missing") from error
    except TypeError as error:
        raise BadHarvest(str(error)) from error
    return plan, shard_id


@dataclass(frozen=True, slots=True)
class HarvestProgress:
    """Progress of a shard.

    Attributes:
        bundles: that are finished.
        total_bundles: of the shard.
        pairs: that are scored.
        resumed_pairs: those of them that were scored by an earlier run.
        fallback: those of them with a sentence that was scored in the contexts of the nearest sentences.
        damaged: description of each damaged file, which is harvested again.
    """

    bundles: int
    total_bundles: int
    pairs: int
    resumed_pairs: int
    fallback: int
    damaged: Sequence[str]


@dataclass(frozen=True, slots=True)
class HarvestSource:
    """Inputs of a harvest: a corpus with its screening, and a teacher.

    `readable` is whether the teacher reads all of a sentence of the corpus: others are not sampled.
    """

    corpus: SampledCorpus
    screening: ChunkSearch
    readable: NDArray[np.bool_]
    teacher: Teacher


def harvest(
    source: HarvestSource,
    plan: HarvestPlan,
    shard_id: ShardId,
    out: Path,
    report: Callable[[HarvestProgress], None],
) -> HarvestProgress:
    """Score the pairs of a shard, and write them to its folder in `out`; resumes if interrupted.

    A pair in several bundles of the shard is kept in the first; other shards may have it too, and
    `semblance_lab.origin.harvest.dataset` keeps one. A damaged file is reported, and harvested again.

    Args:
        source: corpus and teacher.
        plan: of the harvest, the same for all shards.
        shard_id: the shard to harvest.
        out: a folder, which shards may share.
        report: progress callback, called after every bundle.

    Raises:
        BadHarvest: the folder belongs to another harvest, another process is writing there, a disk is full, or there
            are more bundles than sentences to start them with.
        BadCorpus: there are fewer sentences than a bundle needs.
    """
    sampler = BundleSampler(source.corpus, source.screening, source.readable, plan.mixture, plan.seed)
    if plan.bundles > len(sampler):
        most = len(sampler) * plan.mixture.pairs
        raise BadHarvest(f"{plan.pairs:,} pairs exceed the {most:,} that the corpus has sentences for; use fewer")
    shard = Shard(out / f"shard-{shard_id.number}-of-{shard_id.of}")
    about = {
        "semblance": version("semblance-server"),
        "teacher": source.teacher.about(),
        **asdict(plan),
        "shard": asdict(shard_id),
    }
    with shard.lock(about):
        return _ShardWorker(source, sampler, shard, report).run(plan.files(shard_id))


class _ShardWorker:
    """Harvests one shard."""

    def __init__(
        self,
        source: HarvestSource,
        sampler: BundleSampler,
        shard: Shard,
        report: Callable[[HarvestProgress], None],
    ) -> None:
        self._source, self._sampler, self._shard, self._report = source, sampler, shard, report
        self._scored: set[tuple[int, int]] = set()
        self._fallback = 0
        self._damaged: list[str] = []

    def run(self, files: Sequence[range]) -> HarvestProgress:
        finished = self._resume()
        resumed, remaining = len(self._scored), {i: numbers for i, numbers in enumerate(files) if i not in finished}
        total = sum(map(len, files))
        done = total - sum(map(len, remaining.values()))
        progress = HarvestProgress(done, total, resumed, resumed, self._fallback, self._damaged)
        self._report(progress)
        for number, numbers in remaining.items():
            rows: list[Mapping[str, object]] = []
            for bundle in map(self._sampler.bundle, numbers):
                rows += self._score(bundle)
                done += 1
                progress = HarvestProgress(done, total, len(self._scored), resumed, self._fallback, self._damaged)
                self._report(progress)
            self._shard.write(number, pa.Table.from_pylist(rows, COLUMNS))
        return progress

    def _resume(self) -> set[int]:
        """Read the intact files and return their numbers; damaged ones are removed."""
        intact = set()
        for number, file in self._shard.files().items():
            try:
                table = self._shard.read(file)
            except BadHarvest as error:
                self._damaged.append(str(error))
                file.unlink(missing_ok=True)
                continue
            intact.add(number)
            self._scored.update(zip(table["number1"].to_pylist(), table["number2"].to_pylist(), strict=True))
            self._fallback += sum(table["fallback"].to_pylist())
        return intact

    def _score(self, bundle: Bundle) -> Iterator[Mapping[str, object]]:
        texts = self._source.corpus.texts(bundle.sentences)
        result = self._source.teacher.all_pairs(texts)
        for i, j in bundle.pairs():
            numbers = bundle.sentences[i], bundle.sentences[j]
            if numbers in self._scored or numbers[::-1] in self._scored:
                continue
            self._scored.add(numbers)
            fallback = bool(result.fallback[i] or result.fallback[j])
            self._fallback += fallback
            yield {
                "sentence1": texts[i],
                "sentence2": texts[j],
                **{form: float(result.scores[form][i, j]) for form in FORMS},
                "kind": f"{bundle.kinds[i]}-{bundle.kinds[j]}",
                "bundle": bundle.number,
                "number1": numbers[0],
                "number2": numbers[1],
                "fallback": fallback,
            }


# weights; the metadata of Origin already contains the digests of corpus and vocabulary
_WEIGHTS = ("coherence/**/*.safetensors", "generation/**/*.safetensors")


class OriginTeacher:
    """Scores all pairs of a few sentences, each in the contexts of all, to fill large batches.

    Args:
        origin: computes the scores.
        digests: of the files that it was opened from.
    """

    def __init__(self, origin: Origin, digests: Mapping[str, str]) -> None:
        self._origin = origin
        self._digests = digests

    def about(self) -> Mapping[str, Any]:
        """Everything that its scores depend on: Origin's metadata, and the digests."""
        return {**self._origin.about(), "files": dict(self._digests)}

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        """Score every text with every text; a text with itself scores 1.

        Raises:
            BadTexts, BadCorpus: as `Origin.context_sets`.
        """
        sets = self._origin.context_sets(texts)
        joined = np.concatenate([each.contexts for each in sets])
        owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        rows = self._rows(texts, joined)
        matrices = {form: np.eye(len(texts)) for form in FORMS}
        for i, j in combinations(range(len(texts)), 2):
            both = np.isin(owners, (i, j))
            for form, matrix in matrices.items():
                a, b = rows[form][[i, j]][:, both]
                matrix[i, j] = matrix[j, i] = similarity(a, b, form)
        return PairScores(matrices, np.array([each.fallback for each in sets], np.bool_))

    def _rows(self, texts: Sequence[str], contexts: Integers) -> Mapping[Form, Doubles]:
        """Form -> (texts, n) the scores that it compares, of each text in n contexts."""
        terms = np.stack(self._origin.terms(texts, [contexts] * len(texts)))
        relative = relative_terms(terms, self._origin.reference_terms(contexts))
        absolute_scores, relative_scores = (scores(each, self._origin.contexts.weights) for each in (terms, relative))
        return {"cosine": absolute_scores, "centred": absolute_scores, "double_centred": relative_scores}


def model_digests(folder: Path) -> Mapping[str, str]:
    """SHA-256 of the weights in an origin folder.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    files = sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): file_sha256(file) for file in files}
