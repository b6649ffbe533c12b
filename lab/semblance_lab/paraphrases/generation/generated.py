"""Generated pairs: changed sentences of which it is known whether they still say the same.

The replaced words are related in WordNet (`relations`), other changes are in the text files beside this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from semblance.models.files.tables import read_tsv
from semblance_lab.paraphrases.generation.draws import Draws
from semblance_lab.paraphrases.generation.questions import ask_how, ask_what, tasks, vary_names, vary_numbers
from semblance_lab.paraphrases.generation.replacements import Replacements, Sentence
from semblance_lab.paraphrases.generation.rewrites import rewrites
from semblance_lab.paraphrases.pairs import Pair
from semblance_lab.paraphrases.wordnet import Relations

KINDS: Mapping[str, bool] = {
    "antonym": False,
    "conjuncts": True,
    "digits": False,
    "dropped phrase": False,
    "dropped word": False,
    "filler": True,
    "how": True,
    "instance": False,
    "name": False,
    "names swapped": False,
    "negation": False,
    "number": False,
    "other question": False,
    "other topic": False,
    "rare sister": False,
    "same phrase": True,
    "sister": False,
    "spelled": True,
    "swap": False,
    "synonym": True,
    "synonym and antonym": False,
    "two synonyms": True,
    "what": True,
}
"""Kind of a pair -> whether its texts say the same."""
TWO_WORDS = 0.18  # share of the sentences in which two words are replaced


def read_counts(data: Path) -> Mapping[str, int]:
    """Occurrences of each word in Wikipedia. Raises BadDataSet: the file cannot be read."""
    file = data / "lexicon" / "enwiki_vocab_min200.tsv"
    return {row.fields["word"]: int(row.fields["count"]) for row in read_tsv(file, ["word", "count"])}


def generate(sentences: Sequence[str], relations: Relations, seed: int) -> list[Pair]:
    """Pairs of all `KINDS` for which the sentences have material; the same for the same seed.

    Args:
        sentences: of corpora, in English.
        relations: of words; with sisters and instances.
        seed: of all draws.
    """
    draws = Draws(seed)
    replacements = Replacements(relations)
    functions = [replacements.one_word, replacements.kin, replacements.kin, *rewrites(relations)]
    for text in draws.shuffled(sentences):
        sentence = Sentence.of(text)
        for function in functions:
            function(draws, sentence)
        if draws.chance(TWO_WORDS):
            replacements.two_words(draws, sentence)
    ask_how(draws, replacements, tasks(draws, relations.wordnet, sentences))
    ask_what(draws, relations.sisters)
    vary_names(draws, relations)
    vary_numbers(draws)
    return draws.pairs
