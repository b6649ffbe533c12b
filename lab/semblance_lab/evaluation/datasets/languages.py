"""Pairs and searches in other languages than English, and across languages."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.tables import collapse_spaces
from semblance.models.judgments.pairs import GradedPairs
from semblance_lab.evaluation.datasets import DataSet, benchmark
from semblance_lab.evaluation.datasets.pairs import read_stsb
from semblance_lab.evaluation.tasks import Retrieval

_LANGUAGES = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
    "zh": "Chinese",
    "ar": "Arabic",
}
_STSB = ("de", "es", "fr", "it", "pt", "zh")
_XQUAD = ("de", "es", "zh", "ar")


def read_across(path: Path) -> GradedPairs:
    """Read the table of a language, with the first sentences in English.

    They are from the parallel table `en.*` beside it.
    """
    pairs, english = read_stsb(path), read_stsb(path.with_name(path.name.replace(path.name.partition(".")[0], "en", 1)))
    if english.gold != pairs.gold:
        raise BadDataSet(f"{path} is not parallel to the English table beside it: their grades differ")
    return replace(pairs, left=english.left)


def read_xquad(path: Path, questions: str | None = None) -> Retrieval:
    """Read xquad.*.json of the release: each question has one relevant paragraph among all.

    Args:
        path: file of the paragraphs.
        questions: name of the parallel file beside it that the questions are from; None for the same.
    """
    corpus, relevance = dict[str, str](), dict[str, dict[str, float]]()
    for number, paragraph in enumerate(_paragraphs(path)):
        corpus[f"p{number}"] = collapse_spaces(paragraph["context"])
        relevance |= {str(question["id"]): {f"p{number}": 1.0} for question in paragraph["qas"]}
    asked = _paragraphs(path if questions is None else path.with_name(questions))
    texts = {str(each["id"]): collapse_spaces(each["question"]) for paragraph in asked for each in paragraph["qas"]}
    return Retrieval(corpus, {key: texts[key] for key in relevance if key in texts}, relevance)


def _paragraphs(file: Path) -> list[Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
        return [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
    except (OSError, ValueError) as error:
        raise BadDataSet(f"{file} cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        raise BadDataSet(f"{file} is not a file of XQuAD: it lacks {error}") from error


def _stsb(language: str) -> tuple[DataSet, ...]:
    source = "STS benchmark translated [may-2021-stsb-multi-mt]"
    within, across = _LANGUAGES[language], f"English with {_LANGUAGES[language]}"
    file = f"multilingual/stsb/{language}.dev.tsv"
    return (
        *benchmark(read_stsb, source, (f"stsb_{language}_dev", f"STS benchmark dev, {within}", file)),
        *benchmark(read_across, source, (f"stsb_en_{language}_dev", f"STS benchmark dev, {across}", file)),
    )


def _xquad(language: str) -> tuple[DataSet, ...]:
    source, file = "XQuAD [artetxe-etal-2020-xquad]", f"multilingual/xquad/{language}.json"
    name = "English" if language == "en" else _LANGUAGES[language]
    own = (f"xquad_{language}", f"search: 240 paragraphs, 1,190 questions, {name}", file)
    across = (f"xquad_en_{language}", f"search: 240 paragraphs in {name}, 1,190 questions in English", file)
    found = benchmark(read_xquad, source, own)
    return found if language == "en" else (*found, *benchmark(partial(read_xquad, questions="en.json"), source, across))


SETS = (
    *(data_set for language in _STSB for data_set in _stsb(language)),
    *(data_set for language in ("en", *_XQUAD) for data_set in _xquad(language)),
)
