"""Pairs from templates: questions on tasks and things, statements with names and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from semblance_lab.paraphrases.generation.draws import Draws
from semblance_lab.paraphrases.generation.lists import paragraphs
from semblance_lab.paraphrases.generation.replacements import Replacements
from semblance_lab.paraphrases.wordnet import Relations, WordNet

TASKS_OF_CORPORA = 900
REPEATS = 12  # of each task of the list
WHATS = 1_600
NAMES = 3_000
INSTANCES = 6_000
PER_NAME = 12
NUMBERS = 1_200

_TASK = re.compile(r"\bto ([a-z]+(?: [a-z']+){1,6})(?=[.,;?!]|$)")


def tasks(draws: Draws, wordnet: WordNet, sentences: Iterable[str]) -> list[str]:
    """Tasks of people: those of the list, some times each, and phrases after "to"."""
    [listed] = paragraphs("tasks")
    found = [match[1] for text in sentences for match in _TASK.finditer(text)]
    verbs = sorted({task for task in found if wordnet.main_class(task.split()[0]) == "v"})
    return [*listed] * REPEATS + draws.random.sample(verbs, min(TASKS_OF_CORPORA, len(verbs)))


def ask_how(draws: Draws, replacements: Replacements, wanted: Sequence[str]) -> None:
    """Add pairs of questions about tasks: the same, other ones, and about other tasks."""
    frames = _frames("{verb}")
    pick, sample = draws.random.choice, draws.random.sample
    how, others = frames[0], [line for lines in frames[1:] for line in lines]
    for task in wanted:
        one, two = (each.format(verb=task) for each in sample(how, 2))
        draws.add("how", (one, two), same=True)
        if draws.chance(0.5):
            draws.add("other question", (one, pick(others).format(verb=task)), same=False)
        if draws.chance(0.3):
            three, four = sample(others, 2)
            draws.add("other question", (three.format(verb=task), four.format(verb=task)), same=False)
        changed = _changed(draws, replacements, task) if draws.chance(0.8) else pick(wanted)
        if changed and changed != task:
            draws.add("other topic", (one, pick(how).format(verb=changed)), same=False)


def _frames(place: str) -> list[Sequence[str]]:
    return [lines for lines in paragraphs("questions") if place in lines[0]]


def _changed(draws: Draws, replacements: Replacements, task: str) -> str | None:
    """The task with one word that says something else; None if none is known."""
    words = task.split()
    for i in draws.shuffled(range(len(words))):
        if others := replacements.others(words[i]):
            return " ".join([*words[:i], draws.random.choice(others), *words[i + 1 :]])
    return None


def ask_what(draws: Draws, sisters: Mapping[str, Sequence[str]]) -> None:
    """Add pairs of questions about things: the same, other ones, and about other things."""
    frames, nouns = _frames("{noun}"), list(sisters)
    pick, sample = draws.random.choice, draws.random.sample
    for _ in range(WHATS):
        noun = pick(nouns)
        other = pick(sisters[noun])
        lines, different = sample(frames, 2)
        one, two = (each.format(noun=noun, other=other) for each in sample(lines, 2))
        draws.add("what", (one, two), same=True)
        draws.add("other question", (one, pick(different).format(noun=noun, other=other)), same=False)
        line = pick(lines)
        if "{other}" not in line and draws.chance(0.6):
            draws.add("other topic", (line.format(noun=noun), pick(lines).format(noun=other)), same=False)


def vary_names(draws: Draws, relations: Relations) -> None:
    """Add pairs that differ in a name, or in the order of two names."""
    alone, both, _ = paragraphs("statements")
    pick, sample = draws.random.choice, draws.random.sample
    listed = paragraphs("names")
    for kind, groups, times in (("name", listed, NAMES), ("instance", relations.instances, INSTANCES)):
        for _ in range(times):
            a, b, c = sample(pick(groups), 3)
            limit = times if groups is listed else PER_NAME
            if draws.allow(limit, kind, a) and draws.allow(limit, kind, b):
                if draws.chance(0.6):
                    one = pick(alone)
                    draws.add(kind, (one.format(a=a), one.format(a=b)), same=False)
                else:
                    two = pick(both)
                    draws.add(kind, (two.format(a=a, b=c), two.format(a=b, b=c)), same=False)
                    draws.add("names swapped", (two.format(a=a, b=b), two.format(a=b, b=a)), same=False)


def vary_numbers(draws: Draws) -> None:
    """Add pairs that differ in a number."""
    _, _, templates = paragraphs("statements")
    for _ in range(NUMBERS):
        line = draws.random.choice(templates)
        x, y = draws.random.sample(range(1, 100), 2)
        if draws.chance(0.4):
            x = 1000 * x + draws.random.randint(0, 999)
            y = x + draws.random.choice([1, 10, -1, 100])
        draws.add("digits", (line.format(number=x), line.format(number=y)), same=False)
