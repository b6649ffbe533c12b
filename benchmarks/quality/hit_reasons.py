"""Do a few links between words carry the score of a search hit?

    python -m benchmarks.quality.hit_reasons

Searches the bundled sample with ten short questions, and explains the best three hits of each by every measure that
serves as an explanation. Prints for every built-in model the share of the score that the three strongest links carry
(median over the 30 hits, without those whose score is 0), and how many of these links join two function words, or one
with another word, which explains nothing. Punctuation and scikit-learn's English stop words count as function words.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rich.table import Table
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Integers, TokenEmbeddings
from semblance.models.explanation import Explanation
from semblance.models.protocols import Explainable
from semblance.models.runtime import Compute
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.registry import read_source
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SAMPLE = PROJECT / "service" / "sample" / "help_centre.jsonl"
QUESTIONS = (
    *("my parcel never came", "how do I change my password", "refund for a broken lamp", "cancel my subscription"),
    *("can I pay by invoice", "where is my order", "delete my account", "the app crashes", "contact a person"),
    "change the delivery address",
)
MEASURES = (
    *("cosine", "rcmd", "rcmd1", "rcmd_words", "rcmd1_words", "rcmd_content", "rcmd1_content"),
    *("partial_transport", "unbalanced_transport"),
)
HITS, LINKS = 3, 3


@dataclass(frozen=True, slots=True)
class Reasons:
    """Figures of one model and measure.

    Attributes:
        carried: share of the score in the three strongest links, the median over hits.
        function_words: share of these links that join two function words.
        mixed: share of these links that join a function word with another word.
    """

    model: str
    measure: str
    carried: float
    function_words: float
    mixed: float


def reasons(model: str, measure: str, hits: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]) -> Reasons:
    """Explain hits, as pairs of question and document; those whose score is 0 do not count."""
    explaining = similarity(measure)
    assert isinstance(explaining, Explainable)
    explanations = [each for hit in hits if (each := explaining.explain(*hit).by_word()).score > 0]
    strongest = [np.argsort(-each.contribution, axis=None)[:LINKS] for each in explanations]
    carried = [
        each.contribution.flat[links].sum() / each.score for each, links in zip(explanations, strongest, strict=True)
    ]
    functions = np.stack([_functions(*each) for each in zip(explanations, strongest, strict=True)])
    return Reasons(
        model,
        measure,
        round(float(np.median(carried)), 3),
        round(float((functions == 2).mean()), 3),
        round(float((functions == 1).mean()), 3),
    )


def _functions(explanation: Explanation, links: Integers) -> Integers:
    """How many of the two words of each link are function words."""
    rows, columns = np.unravel_index(links, explanation.contribution.shape)
    left, right = (
        np.array([int(_is_function(text[word.start : word.end])) for word in words])
        for text, words in zip(explanation.texts, (explanation.left, explanation.right), strict=True)
    )
    functions: Integers = left[rows] + right[columns]
    return functions


def _best(question: TokenEmbeddings, documents: Sequence[TokenEmbeddings]) -> list[TokenEmbeddings]:
    """The best hits by cosine."""
    cosine = similarity("cosine")
    return sorted(documents, key=lambda each: -cosine.score(question, each))[:HITS]


def _is_function(word: str) -> bool:
    return not word.isalnum() or word.lower() in ENGLISH_STOP_WORDS


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(BUILT_IN), help="built-in names, or folders")
    options = parser.parse_args()
    documents = [json.loads(line)["text"] for line in SAMPLE.read_text("utf-8").splitlines()]
    results = []
    for model in options.models:
        encoder = read_source(model).load(model, Compute())
        asked, stored = (
            list(encoder.encode(encoder.tokenize(texts, "document", "END"), "tokens"))
            for texts in (QUESTIONS, documents)
        )
        hits = [(one, hit) for one in asked for hit in _best(one, stored)]
        results += [reasons(model, measure, hits) for measure in MEASURES]
    table = Table("model", "measure", "share of three links", "function words", "mixed", title="reasons of hits")
    for each in results:
        table.add_row(*map(str, asdict(each).values()))
    wide_console().print(table)
    save_results("hit_reasons", [asdict(each) for each in results])


if __name__ == "__main__":
    main()
