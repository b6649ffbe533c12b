"""The sets of the data folder have their published sizes, and texts and grades within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.datasets import data_set, data_sets
from semblance_lab.evaluation.tasks import (
    ChunkAlignment,
    ChunkedPair,
    Rankings,
    Retrieval,
    Task,
    Triplets,
    WordAlignment,
)
from tests.support.project import PROJECT

# pairs, and of each part where there are parts
GRADED: Mapping[str, object] = {
    "sts12": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "OnWN": 750, "SMTnews": 399},
    "sts13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "sts14": {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "sts15": {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "sts16": {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
    "sts12_train": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734},
    "stsb": 1379,
    "stsb_dev": 1500,
    "stsb_train": 5749,
    "sickr": 4927,
    "sickr_trial": 500,
    "sickr_train": 4500,
    "pit_dev": 4727,
    "cxc_val": 10_439,
    "stsb_de_dev": 1500,
    "stsb_en_zh_dev": 1500,
}
OTHERS: Mapping[str, object] = {
    "turl_train": 42_200,
    "argkp_dev": 3458,
    "argkp_train": 20_635,
    "msrp_train": 4076,
    "qqp_dev": 7600,
    "qqp_train": 2000,
    "wiki_sections_derived": 12_959,
    "wikiqa": (243, 2351),
    "wikiqa_dev": (126, 1130),
    "wikiqa_dev_search": (126, 1119),
    "wikiqa_train": (873, 8672),
    "adi": (35, 82),
    "cranfield": (225, 1398),  # without two empty documents
    "cisi": (76, 1460),
    "medline": (30, 1033),
    "nfcorpus_dev": (324, 3193),
    "xquad_en": (1190, 240),
    "xquad_zh": (1190, 240),
    "xquad_en_ar": (1190, 240),
    "ists_images_train": 750,
    "ists_headlines_train": 756,
    "ists_answers_train": 330,
    "ists_train": 1836,
    "ists_images_2015": 375,
    "ists_headlines_2015": 378,
    "edinburgh": (306, 5_766, 871),
    "edinburgh_train": (714, 13_314, 2_532),
    "msr_rte": (800, 5_791, 409),
    "words_en_fr": (575, 5_342, 0),  # without nine pairs that repeat
    "words_en_es": (97, 818, 0),  # without three
    "words_en_pt": (97, 756, 0),
    "words_en_fr_golden": (97, 979, 0),
}


def read(name: str, data: Path) -> Task:
    known = data_set(name)
    return known.read(next(data / file for file in known.files if (data / file).exists()))


def sides(pairs: Sequence[ChunkedPair]) -> Iterator[tuple[range, set[int]]]:
    """The numbers of the words of each sentence, and those in its chunks."""
    for pair in pairs:
        for words, chunks in ((pair.left, pair.left_chunks), (pair.right, pair.right_chunks)):
            yield range(1, len(words) + 1), {word for chunk in chunks for word in chunk}


def size(task: Task) -> object:
    """Pairs, of each part if there are parts, or else queries and documents, or pairs with sure and possible links."""
    match task:
        case GradedPairs(left, right, gold, parts):
            assert len(left) == len(right) == sum(0 <= grade <= 5 for grade in gold)
            return Counter(parts) if any(parts) else len(left)
        case LabeledPairs(left) | Triplets(left):
            return len(left)
        case Rankings(queries, candidates, relevance):
            assert [max(each) for each in relevance] == [1] * len(queries)
            return len(queries), sum(map(len, candidates))
        case Retrieval(corpus, queries, judged):
            assert min(max(judged[query].values()) for query in queries) > 0
            return len(queries), len(corpus)
        case WordAlignment(pairs):
            return len(pairs), sum(len(pair.sure) for pair in pairs), sum(len(pair.possible) for pair in pairs)
        case ChunkAlignment(pairs):
            assert all(chunked <= set(numbers) for numbers, chunked in sides(pairs))
            return len(pairs)
        case _:
            raise TypeError


@pytest.mark.parametrize("name", [*GRADED, *OTHERS])
def test_sets_have_their_published_sizes(data: Path, name: str) -> None:
    assert size(read(name, data)) == {**GRADED, **OTHERS}[name]


def test_grades_and_labels_have_their_published_counts(data: Path) -> None:
    pit, images = read("pit_dev", data), read("ists_images", data)
    assert isinstance(pit, GradedPairs)
    assert Counter(pit.gold) == {0: 1748, 1: 924, 2: 585, 3: 522, 4: 537, 5: 411}
    assert isinstance(images, ChunkAlignment)
    labels = Counter("_".join(link.labels) for pair in images.pairs for link in pair.gold)
    assert labels == {"NOALI": 1318, "EQUI": 624, "SIMI": 185, "SPE2": 152, "SPE1": 150, "REL": 32, "OPPO": 1}
    assert len(images.pairs) == 375
    assert all(chunked == set(numbers) for numbers, chunked in sides(images.pairs)), "the chunk files cover sentences"


def test_every_set_has_relative_files_and_cites_the_bibliography() -> None:
    bibliography = (PROJECT / "references.bib").read_text("utf-8")
    for name, each in data_sets().items():
        assert name == each.name == name.lower()
        assert each.files
        assert not any(Path(file).is_absolute() for file in each.files)
        for key in each.source.partition("[")[2].rstrip("]").split(", "):
            assert f"{{{key}," in bibliography, name
