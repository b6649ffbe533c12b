"""Is a sentence found, and shown, that was planted in a long text?

    python -m benchmarks.quality.search.planted --data "$SEMBLANCE_DATA"

plants 200 sentences between those of 17 books and 23 long speeches, each at a random place of a random text, and stores
every text as one document: 100 invented ones, of places that do not exist, and 100 answers of WikiQA (train), whose
subjects the texts may be about as well. It asks for each in every mode that compares vectors, by `cosine` and by
`rcmd1_words`. A sentence is found if the first hit is its document, with the passage that contains it, and shown if the
highlight of that hit has it, as in `quality.search.snippets`. Answers that do not say what they are about are not
planted: those that begin with a pronoun or lack a name or noun of their question, that is a word of five letters or
more. Prints both numbers for each kind, measure and mode, and the questions whose answer was not shown. It takes
minutes, mostly for encoding.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client, Hit
from semblance_client.vocabulary.search import Mode

from benchmarks.quality.search.snippets import is_shown
from semblance.models.tokenization.passages import Span, sentences
from semblance.models.tokenization.terms import document_terms
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_wikiqa
from semblance_lab.evaluation.tasks import Rankings
from tests.support.results import save_results
from tests.support.running_service import running_process
from tests.support.wide_console import wide_console

SET = "wikiqa_train"  # dev has fewer than 100 such answers
BOOKS, SPEECHES = "gutenberg", ("inaugural", "state_union")
LONGEST = 23  # speeches
PLANTED = 100
MODES: tuple[Mode, ...] = ("vector", "hybrid", "auto")
MEASURES = ("cosine", "rcmd1_words")
SYLLABLES = ("var", "lin", "dor", "mek", "sau", "bri", "tol", "ney", "gask", "wen")
ENDINGS = ("holm", "stead", "wick", "mouth", "bourne", "dale", "by", "field", "gate", "minster")
INVENTED = (
    (
        "The lighthouse of {name} was painted green in the summer of {year}.",
        "When was the lighthouse of {name} painted?",
    ),
    ("Oda Renner repaired the clock tower of {name} with copper wire.", "Who repaired the clock tower of {name}?"),
    ("The ferry to {name} carries {year} passengers a day.", "How many passengers does the ferry to {name} carry?"),
    ("Cheese from {name} ripens in caves of red chalk.", "Where does the cheese from {name} ripen?"),
    ("The bridge at {name} is made of glass and cedar.", "What is the bridge at {name} made of?"),
    ("The library of {name} lends umbrellas on rainy days.", "What does the library of {name} lend when it rains?"),
    ("The tramway of {name} was closed after the flood of {year}.", "Why was the tramway of {name} closed?"),
    ("Bakers in {name} sell saffron bread on the last Sunday of May.", "Which bread is sold in {name} in May?"),
    ("The observatory at {name} discovered a comet in {year}.", "What did the observatory at {name} discover?"),
    ("The school of {name} teaches the art of building kites.", "What is taught at the school of {name}?"),
)
PRONOUN = re.compile(r"(he|she|it|they|we|his|her|its|their|this|that|these|those|there)\b")
MIN_LETTERS = 5
PASSAGES = 20  # of a document that a measure scores: the nearest ones by vector and by terms
COLLECTION = "planted"


class Sentence(NamedTuple):
    """A planted sentence, its question, and its place."""

    text: str
    question: str
    document: str
    span: Span
    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """How many sentences of a kind were found and shown by one measure in one mode."""

    kind: str
    measure: str
    mode: str
    sentences: int
    document_first: int
    found: int
    shown: int


class Outcome(NamedTuple):
    """What the first hit of a question has: the document of the sentence, its passage, its highlight."""

    sentence: Sentence
    measure: str
    mode: str
    document: bool
    found: bool
    shown: bool
    hit: Hit


def long_texts(data: Path) -> dict[str, str]:
    """Books and long speeches by name, with empty lines between paragraphs."""
    speeches = {name: text for each in SPEECHES for name, text in _texts(data / "text" / f"{each}.jsonl").items()}
    longest = sorted(speeches, key=lambda name: -len(speeches[name]))[:LONGEST]
    return _texts(data / "text" / f"{BOOKS}.jsonl") | {name: speeches[name] for name in longest}


def _texts(file: Path) -> dict[str, str]:
    paragraphs: dict[str, list[str]] = {}
    with file.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            paragraphs.setdefault(f"{file.stem}/{line['doc']}", []).append(line["text"])
    return {name: "\n\n".join(each) for name, each in paragraphs.items()}


def invented(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Questions about places that do not exist, with their answers."""
    rng = random.Random(seed)
    names = rng.sample([(a + b + end).capitalize() for a in SYLLABLES for b in SYLLABLES for end in ENDINGS], count)
    years = [rng.randrange(1700, 2000) for _ in names]
    pairs = [INVENTED[i % len(INVENTED)] for i in range(count)]
    return [
        (question.format(name=name), answer.format(name=name, year=year))
        for (answer, question), name, year in zip(pairs, names, years, strict=True)
    ]


def answers(task: Rankings) -> Iterator[tuple[str, str]]:
    """Questions with their first answer, if that says what it is about."""
    for question, candidates, labels in zip(task.queries, task.candidates, task.relevance, strict=True):
        answer = candidates[labels.index(1.0)]
        if not PRONOUN.match(answer.lower()) and _long_words(question) & _long_words(answer):
            yield question, answer


def _long_words(text: str) -> set[str]:
    return {term.text for term in document_terms(text) if len(term.text) >= MIN_LETTERS}


def plant(
    texts: Mapping[str, str], pairs: Mapping[str, Sequence[tuple[str, str]]], seed: int = 0
) -> tuple[dict[str, str], list[Sentence]]:
    """The texts with each answer of each kind between two sentences of one of them."""
    rng = random.Random(seed)
    own: dict[str, list[tuple[str, str, str]]] = {name: [] for name in texts}
    for kind, each in pairs.items():
        for question, answer in each:
            own[rng.choice(sorted(texts))].append((question, answer, kind))
    planted = {name: _plant(name, texts[name], own[name], rng) for name in texts}
    return {name: text for name, (text, _) in planted.items()}, [each for _, own in planted.values() for each in own]


def _plant(
    name: str, text: str, pairs: Sequence[tuple[str, str, str]], rng: random.Random
) -> tuple[str, list[Sentence]]:
    """A text with its answers, at different places."""
    if not pairs:
        return text, []
    places = sorted(rng.sample([start for start, _ in sentences(text)[1:]], len(pairs)))
    parts, length, planted = [text[: places[0]]], places[0], []
    for (question, answer, kind), start, end in zip(pairs, places, [*places[1:], len(text)], strict=True):
        planted.append(Sentence(answer, question, name, (length + 1, length + 1 + len(answer)), kind))
        parts.append(f" {answer} {text[start:end]}")
        length += len(parts[-1])
    return "".join(parts), planted


def measure(client: Client, texts: Mapping[str, str], planted: Sequence[Sentence]) -> list[Outcome]:
    """Store the texts, unless they are stored, and ask the question of each sentence in every mode."""
    if client.create_collection(COLLECTION, tokens="int8").count < len(texts):
        documents = [{"id": name, "text": text} for name, text in texts.items()]
        client.upload(track(documents, "storing"), COLLECTION)
    return [
        _ask(client, each, measure, mode)
        for measure in MEASURES
        for mode in MODES
        for each in track(planted, f"{mode}, {measure}")
    ]


def _ask(client: Client, sentence: Sentence, measure: str, mode: Mode) -> Outcome:
    answer = client.search(
        sentence.question, COLLECTION, k=1, mode=mode, measure=measure, passages=PASSAGES, highlight=True
    )
    [hit] = answer.hits
    assert hit.highlight is not None
    own = hit.id == sentence.document
    found = own and hit.start <= sentence.span[0] and sentence.span[1] <= hit.end
    shown = found and is_shown(sentence.span, (hit.highlight.start, hit.highlight.end))
    return Outcome(sentence, measure, mode, own, found, shown, hit)


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for each kind of sentences, measure and mode."""
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for each in outcomes:
        groups.setdefault((each.sentence.kind, each.measure, each.mode), []).append(each)
    return [
        Row(
            *key,
            len(own),
            sum(each.document for each in own),
            sum(each.found for each in own),
            sum(each.shown for each in own),
        )
        for key, own in sorted(groups.items())
    ]


def show(results: Sequence[Row], outcomes: Sequence[Outcome], console: Console) -> None:
    """Print all rows, and the sentences that were not shown."""
    table = Table(
        "sentences",
        "measure",
        "mode",
        "document first",
        "found",
        "shown",
        title="sentences planted in books and long speeches",
    )
    for row in results:
        table.add_row(
            row.kind,
            row.measure,
            row.mode,
            *(f"{count} of {row.sentences}" for count in (row.document_first, row.found, row.shown)),
        )
    console.print(table)
    for each in outcomes:
        if not each.shown:
            assert each.hit.highlight is not None
            console.print(
                f"{each.measure}, {each.mode}: {'found, not shown' if each.found else 'not found'}", highlight=False
            )
            console.print(f"  question: {each.sentence.question}", highlight=False, markup=False)
            console.print(f"  planted: {each.sentence.text}", highlight=False, markup=False)
            console.print(f"  highlight: {each.hit.highlight.text!r}", highlight=False, markup=False)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmark data, as for semblance evaluate")
    parser.add_argument("--sentences", type=int, default=PLANTED, help="number of planted sentences of each kind")
    parser.add_argument("--home", type=Path, help="keep the service's documents in this folder, for further runs")
    options = parser.parse_args()
    pairs = list(answers(read_wikiqa(options.data / data_set(SET).files[0])))
    if len(pairs) < options.sentences:
        raise SystemExit(f"{SET} has {len(pairs)} answers, not {options.sentences}")
    pairs = random.Random(1).sample(pairs, options.sentences)
    kinds = {"invented": invented(options.sentences), "WikiQA": pairs}
    texts, planted = plant(long_texts(options.data), kinds)
    with running_process(home=options.home) as service, Client(service.url, timeout_s=600) as client:
        outcomes = measure(client, texts, planted)
    results = rows(outcomes)
    show(results, outcomes, wide_console())
    save_results("planted", [asdict(row) for row in results])


if __name__ == "__main__":
    main()
