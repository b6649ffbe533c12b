"""A folder of WordNet's files with a few synsets, and what is drawn from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from semblance_lab.paraphrases.wordnet import CLASSES, Relations, read_relations, read_wordnet

LICENSE = "  1 This software and database is being provided to you, the LICENSEE, by  \n"


class Entry(NamedTuple):
    """A synset; its pointers are (symbol, name of another, number of the own word, number of the other's)."""

    name: str
    kind: str
    topic: str
    words: Sequence[str]
    pointers: Sequence[tuple[str, str, int, int]] = ()


def below(name: str, topic: str, *words: str) -> list[Entry]:
    """A synset of a noun for each word, below one that is named."""
    symbol = "@i" if words[0][0].isupper() else "@"
    return [Entry(word.lower(), "n", topic, [word], [(symbol, name, 0, 0)]) for word in words]


ENTRIES = [
    Entry("color", "n", "07", ["color", "colour"]),
    Entry("animal", "n", "03", ["animal"]),
    Entry("river", "n", "17", ["river"]),
    *below("animal", "05", "dog", "cat", "horse", "okapi"),
    Entry("couch", "n", "06", ["couch", "sofa", "lounge(p)"], [("@", "color", 0, 0)]),
    Entry("picture", "n", "06", ["picture", "photo"], [("@", "color", 0, 0)]),
    *below("river", "17", "Thames", "Danube", "Volga", "Elbe", "Tiny"),
    Entry("large", "a", "00", ["large", "big"], [("!", "small", 1, 1)]),
    Entry("small", "a", "00", ["small"], [("!", "large", 1, 1)]),
    Entry("dog2", "v", "38", ["dog"]),
    Entry("sit", "v", "35", ["sit"], [("!", "stand", 1, 1)]),
    Entry("stand", "v", "35", ["stand"], [("!", "sit", 1, 1), ("+", "couch", 1, 1)]),
]
COUNTS: Mapping[str, int] = {
    **{word.partition("(")[0].lower(): 9000 for entry in ENTRIES for word in entry.words},
    "okapi": 500,
    "tiny": 10,
}


def write_wordnet(folder: Path, entries: Sequence[Entry] = ENTRIES) -> Path:
    """Write the files of entries; of the senses of a word, the first entry is the most frequent one."""
    folder.mkdir(exist_ok=True)
    offsets = {entry.name: f"{i:08d}" for i, entry in enumerate(entries, 100)}
    kinds = {entry.name: entry.kind for entry in entries}
    for name, kind in CLASSES.items():
        data, senses = [LICENSE], defaultdict(list)
        for entry in entries:
            if entry.kind == kind:
                words = " ".join(f"{word} 0" for word in entry.words)
                pointers = [
                    f"{symbol} {offsets[other]} {kinds[other]} {one:02x}{two:02x}"
                    for symbol, other, one, two in entry.pointers
                ]
                head = f"{offsets[entry.name]} {entry.topic} {kind} {len(entry.words):02x} {words}"
                data.append(f'{head} {" ".join([f"{len(pointers):03d}", *pointers])} | a gloss; "an example"  \n')
                for word in entry.words:
                    senses[word.partition("(")[0].lower()].append(offsets[entry.name])
        index = [f"{word} {kind} {len(own)} 1 @ {len(own)} 1 {' '.join(own)}  \n" for word, own in senses.items()]
        (folder / f"data.{name}").write_text("".join(data), "utf-8")
        (folder / f"index.{name}").write_text("".join([LICENSE, *index]), "utf-8")
    return folder


def tiny_relations(folder: Path) -> Relations:
    """Relations of the entries."""
    return read_relations(read_wordnet(write_wordnet(folder)), COUNTS)
