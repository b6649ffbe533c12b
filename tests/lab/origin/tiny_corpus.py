"""A small corpus with meaningful order: reports on four topics in one order of events."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from semblance_lab.origin.corpus.corpus_builder import CorpusCounts, build_corpus
from semblance_lab.origin.corpus.documents import CorpusDocument
from semblance_lab.origin.origin_settings import CorpusSettings

DOCUMENTS = 60

_NAMES = "Anna|Boris|Carla|David|Emma|Felix|Greta|Hugo|Irene|Jonas|Karin|Leo|Maria|Nils|Olga|Peter|Rosa|Stefan"
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_PLACES = ["the north", "the south", "the old town", "the harbour", "the hills", "the valley", "the capital"]

# topic -> things, people, and sentence templates in order
_TOPICS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "weather": (
        "heavy rain|strong wind|thick fog|light snow|a long storm|warm sunshine",
        "the weather office|the river guard|the mayor",
        (
            "{name} of {people} expects {thing} in {place} on {day}",
            "{thing} will reach {place} on {day} before noon, said {name}",
            "{people} told {name} to stay at home while {thing} lasts",
            "by {day} {thing} had moved on from {place}, and {name} went out again",
        ),
    ),
    "market": (
        "the price of oil|the price of wheat|the price of copper|the price of coffee|the rate of interest",
        "the central bank|the trade ministry|the exchange",
        (
            "{thing} rose by {number} percent on {day}, {people} said",
            "{name}, who trades for {people}, had expected a fall of {number} percent",
            "buyers in {place} paid {number} dollars more than on {day}, {name} said",
            "{people} will look at {thing} again on {day} in {place}",
        ),
    ),
    "kitchen": (
        "onion soup|apple cake|fish stew|fresh bread|bean salad|mushroom pie",
        "the cook|the baker|the landlady",
        (
            "{name} wants to make {thing} for {number} guests from {place}",
            "{people} gave {name} a knife, a pan and {number} onions on {day}",
            "then {name} cooked {thing} for {number} minutes over a low fire",
            "on {day} the guests from {place} ate {thing} and thanked {name}",
        ),
    ),
    "hospital": (
        "a broken arm|a high fever|a bad cough|a deep cut|a weak heart",
        "the doctor|the nurse|the surgeon",
        (
            "{name} came to the hospital in {place} with {thing} on {day}",
            "{people} looked at {name} for {number} minutes and found {thing}",
            "{people} gave {name} {number} pills against {thing}",
            "{name} left the hospital in {place} on {day} and felt well again",
        ),
    ),
}


def tiny_documents(documents: int = DOCUMENTS, seed: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield names and sentences, 8 to 12 per document; all unique, with repeated bigrams."""
    if documents > 300:
        raise ValueError(f"{documents} documents exceed the 300 that the templates suffice for")
    rng = random.Random(seed)
    used: set[str] = set()
    for number in range(documents):
        topic = list(_TOPICS)[number % len(_TOPICS)]
        heroes = rng.sample(_NAMES.split("|"), 3)
        things, people, steps = _TOPICS[topic]
        length = rng.randint(8, 12)
        sentences: list[str] = []
        while len(sentences) < length:
            # in order, each for its share of the report
            step = steps[len(sentences) * len(steps) // length]
            sentence = _fill(step, heroes, (things, people), rng)
            if sentence not in used:
                used.add(sentence)
                sentences.append(sentence)
        yield f"{topic}-{number:02d}", sentences


def write_tiny_corpus(folder: Path, documents: int = DOCUMENTS, seed: int = 0) -> Path:
    """Write a new folder with `reports.jsonl`, one line of up to four sentences per paragraph."""
    folder.mkdir(parents=True)
    with (folder / "reports.jsonl").open("w", encoding="utf-8") as lines:
        for name, sentences in tiny_documents(documents, seed):
            for paragraph, start in enumerate(range(0, len(sentences), 4)):
                text = " ".join(sentences[start : start + 4])
                lines.write(json.dumps({"doc": name, "par": paragraph, "text": text}) + "\n")
    return folder


def build(
    folder: Path,
    documents: Iterable[tuple[str, Sequence[str]]],
    evaluated: Collection[str] = (),
    **settings: float,
) -> CorpusCounts:
    """Build a corpus in a new folder from names and sentences."""
    folder.mkdir()
    scratch = folder.with_name(f"{folder.name}-scratch")
    scratch.mkdir()
    found = (CorpusDocument(name, [tuple(sentences)]) for name, sentences in documents)
    return build_corpus(found, evaluated, CorpusSettings.model_validate(settings), folder, scratch)


def _fill(step: str, heroes: list[str], words: tuple[str, str], rng: random.Random) -> str:
    thing, people = (rng.choice(choices.split("|")) for choices in words)
    sentence = step.format(
        name=rng.choice(heroes),
        thing=thing,
        people=people,
        place=rng.choice(_PLACES),
        day=rng.choice(_DAYS),
        number=rng.randint(2, 90),
    )
    return f"{sentence[0].upper()}{sentence[1:]}."
