"""The figures of searches: near ids, snippets with the answer, planted sentences, lengths of passages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from semblance_client import Client

from benchmarks.quality.search import (
    kept,
    kept_rankings,
    near_ids,
    passage_length,
    planted,
    snippets,
    term_bonus,
    tickets,
)
from semblance.models.embeddings import unit_rows
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.text import Role
from semblance.models.tokenization.passages import Cut, sentences
from semblance.service.model_loading.registry import read_source
from semblance_lab.evaluation.tasks import Rankings, Retrieval
from tests.support.plain_bm25 import bm25_scores
from tests.support.running_service import running_service
from tests.support.small_model import load, write_glove

WIKIQA = Rankings(
    ["how old is the tower", "who built the bridge"],
    [
        ["The tower stands in a park.", "The tower is 90 years old.", "Many people visit it."],
        ["It was painted red.", "The bridge was built by two engineers.", "A bridge is long.", "Engineers built it."],
    ],
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
)
TEXTS = {
    "shop": "The shop opens at nine. It closes at six. On Sundays the door is shut.\n\nTea is sold in the evening.",
    "sea": "The ship left in May. A storm came up. All hands were on deck.\n\nThe captain slept.",
}
PAIRS = [
    ("who invented the telephone", "alexander graham bell invented the telephone ."),
    ("where do penguins live", "penguins live in the southern hemisphere ."),
    ("what is the capital of france", "paris is the capital of france ."),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with running_service() as url, Client(url) as connected:
        yield connected


def test_ids_of_a_family_differ_in_spelling_or_number() -> None:
    ids = near_ids.near_ids(25)
    assert len({each.text for each in ids}) == len(ids) == 100
    assert tuple(each.text for each in ids[:4]) == near_ids.SPELLINGS
    assert len({each.document.replace(each.text, "") for each in ids}) == 1, "texts only differ in the id"
    assert all(each.text in each.question for each in ids)


def test_an_id_without_its_document_is_a_miss(client: Client) -> None:
    ids = near_ids.near_ids(2)
    near_ids.fill(client, ids[1:], ["The lamp flickers.", "A parcel was lost."])
    rows, misses = near_ids.measure(client, ids)
    assert [miss.mode for miss in misses if miss.asked == ids[0].text] == list(near_ids.MODES)
    assert all(miss.asked != miss.found for miss in misses)
    assert sum(row.first for row in rows) == len(near_ids.MODES) * len(ids) - len(misses)
    assert sum(row.questions for row in rows) == len(near_ids.MODES) * len(ids)


def test_questions_for_tickets_are_answered_by_their_codes(client: Client) -> None:
    stored = tickets.tickets(60)
    asked = list(tickets.questions(stored, 2))
    for each in asked:
        if each.kind == tickets.TYPO:
            assert each.text != each.clean
            continue
        assert each.tickets == {ticket.id for ticket in stored if each.code in (ticket.code, ticket.order)}
        assert each.code in each.text
    tickets.fill(client, stored)
    rows = tickets.measure(client, asked)
    asserted = [row for row in rows if row.mode == tickets.ASSERTED]
    assert {row.answered for row in asserted if row.kind != tickets.TYPO} == {2}
    assert sum(row.answered for row in asserted if row.kind == tickets.TYPO) == 3, "aleaks has a prefix, as atypical"
    assert {row.answered for row in rows if row.mode == "vector" and row.kind == "missing code"} == {0}
    assert sum(row.questions for row in rows) == len(tickets.MODES) * len(asked)


def test_answers_are_places_in_the_joined_document() -> None:
    first, second = snippets.questions(WIKIQA)
    assert [first.document[slice(*span)] for span in first.answers] == ["The tower is 90 years old."]
    assert [second.document[slice(*span)] for span in second.answers] == [WIKIQA.candidates[1][i] for i in (1, 3)]


def test_the_best_window_has_the_largest_sum_by_bm25() -> None:
    asked = snippets.questions(WIKIQA)
    rows = {(each.id, span): each.document[slice(*span)] for each in asked for span in sentences(each.document)}
    for chars in (30, 60, 90):
        for each, found in zip(asked, snippets.best_by_bm25(asked, chars), strict=True):
            scores = {span: score for (key, span), score in bm25_scores(rows, each.text).items() if key == each.id}
            sums = {
                (first[0], last[1]): sum(scores[span] for span in scores if first[0] <= span[0] <= last[0])
                for first in scores
                for last in scores
                if 0 < last[1] - first[0] <= chars
            }
            inside = sum(score for span, score in scores.items() if found[0] <= span[0] < found[1])
            assert inside >= max(sums.values(), default=0.0) - 1e-9
            assert found[1] - found[0] <= chars


def test_snippets_as_long_as_documents_show_all_answers(client: Client) -> None:
    rows = {row.snippet: row for row in snippets.measure(client, snippets.questions(WIKIQA), chars=2000)}
    assert rows["first sentences"].shown == 3
    for row in rows.values():
        assert 0 < row.shown <= row.answers == 3
        assert row.share == pytest.approx(100 * row.shown / 3)
        assert row.ahead == pytest.approx(rows[snippets.OURS].share - row.share)


def test_planted_sentences_are_where_they_are_said_to_be() -> None:
    texts, found = planted.plant(TEXTS, {"WikiQA": PAIRS})
    assert {(each.question, each.text) for each in found} == set(PAIRS)
    assert all(texts[each.document][slice(*each.span)] == each.text for each in found)
    for name, text in texts.items():
        own = {each.span: each.text for each in found if each.document == name}
        outside = [text[i] for i in range(len(text)) if not any(start - 1 <= i <= end for start, end in own)]
        assert "".join(outside) == TEXTS[name]


def test_planted_sentences_are_found_and_shown(client: Client) -> None:
    texts, found = planted.plant(TEXTS, {"WikiQA": PAIRS})
    outcomes = planted.measure(client, texts, found)
    for row in planted.rows(outcomes):
        assert (row.sentences, row.document_first, row.found) == (3, 3, 3), "each document is one passage"
    for each in outcomes:
        assert each.hit.highlight is not None
        assert each.shown == snippets.is_shown(each.sentence.span, (each.hit.highlight.start, each.hit.highlight.end))


def test_kept_answers_are_counted_beside_other_ways(client: Client) -> None:
    asked = [kept.ask(client, each, (each.document,)) for each in snippets.questions(WIKIQA)]
    answers = [each.document[slice(*span)] for each in snippets.questions(WIKIQA) for span in each.answers]
    rows = list(kept.compare(client, asked))
    assert [(row.way, row.score) for row in rows[:4]] == [
        (way, 50) for way in ("prune", "first sentences", "best by BM25", "best by cosine")
    ]
    for number, share in enumerate(kept.SHARES):
        own, *others = rows[4 * number : 4 * number + 4]
        assert (own.answers, own.score) == (3, 100 * share)
        assert all(other.tokens <= own.tokens for other in others)
        kept_texts = [each.text for one in asked for document in one.pruned[number].documents for each in document.kept]
        assert own.kept == sum(answer in kept_texts for answer in answers)


def test_planted_answers_have_text_around_them() -> None:
    texts, found = planted.plant(TEXTS, {"WikiQA": PAIRS})
    for question, each in zip(kept.around(texts, found), found, strict=True):
        [(start, end)] = question.answers
        assert (question.text, question.document[start:end]) == (each.question, each.text)
        assert question.document in texts[each.document]


def test_documents_of_a_sentence_rank_as_whole_ones(client: Client) -> None:
    corpus = {"a": "A lost parcel is sent again.", "b": "We are open all week.", "c": "Music is played. It rains."}
    task = Retrieval(corpus, {"q": "my parcel is lost"}, {"q": {"a": 1.0, "b": 0.0, "c": 0.0}})
    rows = list(kept_rankings.measure(client, task, 1))
    assert [(row.way, row.score) for row in rows] == [
        (way, 100 * share) for share in kept_rankings.SHARES for way in kept_rankings.WAYS
    ]
    assert all((row.whole, row.ndcg, row.ahead) == (100, 100, 0) for row in rows)
    assert all(200 / 3 < row.tokens <= 100 for row in rows)


def test_invented_sentences_have_the_subject_of_their_question() -> None:
    pairs = planted.invented(100)
    place = re.compile(rf"\b({'|'.join(planted.SYLLABLES)})\w+({'|'.join(planted.ENDINGS)})\b", re.IGNORECASE)
    places = [next(place.finditer(question))[0] for question, _ in pairs]
    assert len(set(places)) == 100
    assert all(name in answer for name, (_, answer) in zip(places, pairs, strict=True))


def test_answers_that_do_not_say_their_subject_are_not_planted() -> None:
    question = "when was the castle built?"
    answers = ["It is a castle of 1300.", "The building is of 1300.", "A castle stood there in 1300."]
    task = Rankings([question] * 3, [["no", each] for each in answers], [[0.0, 1.0]] * 3)
    assert list(planted.answers(task)) == [(question, answers[2])]


def test_documents_rank_by_their_best_passage(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(12)]
    encoder = load(str(write_glove(tmp_path / "glove.txt", words)))
    corpus = {
        f"d{i}": " ".join(" ".join(rng.choice(words, 5)).capitalize() + "." for _ in range(1 + 3 * (i % 4)))
        for i in range(30)
    }
    queries = {f"q{i}": " ".join(rng.choice(words, 3)) for i in range(5)}
    task = Retrieval(corpus, queries, {key: {"d1": 1.0, "d7": 2.0} for key in queries})
    cut = passage_length.cut_corpus(encoder, task, Cut(16, 1))
    assert len(cut.corpus) > len(corpus)
    found = passage_length.gains(encoder, cut, task)
    passages = {key: vectors(encoder, [text], "document")[0] for key, text in cut.corpus.items()}
    for query, gain in zip(queries.values(), found, strict=True):
        [asked] = vectors(encoder, [query], "query")
        best = {
            doc_id: max(asked @ own for key, own in passages.items() if key.partition("\t")[0] == doc_id)
            for doc_id in corpus
        }
        order = sorted(corpus, key=lambda doc_id: -best[doc_id])[:10]
        gained = sum(
            grade / np.log2(2 + order.index(doc_id))
            for doc_id, grade in {"d1": 1.0, "d7": 2.0}.items()
            if doc_id in order
        )
        assert gain == pytest.approx(gained / (2 + 1 / np.log2(3)))


def vectors(encoder: Encoder, texts: list[str], role: Role) -> list[np.ndarray]:
    return [unit_rows(each.pooled()) for each in encoder.encode(encoder.tokenize(texts, role, "END"), "pooled")]


def test_the_bonus_of_a_collection_is_chosen_on_the_others() -> None:
    first, second = term_bonus.GRID[3], term_bonus.GRID[7]
    flat = {bonus: [0.5, 0.5] for bonus in (*term_bonus.GRID, term_bonus.NONE, term_bonus.SERVED)}
    found = {"a": flat | {first: [0.9, 0.7]}, "b": flat | {second: [0.6, 0.8]}}
    a, b = term_bonus.rows(found)
    assert ((a.most, a.half), (b.most, b.half)) == (tuple(second), tuple(first))
    assert (a.cosine, a.chosen, b.chosen) == (50, 50, 50)


def test_terms_add_to_the_order_by_cosine() -> None:
    """Without a bonus, documents come by cosine; with a large one, those with the terms of the query come first."""
    corpus = {"bill": "An unpaid bill from spring.", "zebra": "A zebra eats grass.", "code": "It says E-4711 there."}
    query = "why is the bill E-4711 unpaid in spring"
    encoder = read_source("minilm").load("minilm", Compute())
    task = Retrieval(corpus, {"q": query}, {"q": {"code": 1.0}})
    rare = Retrieval(corpus, {"q": "E-4711"}, {"q": {"code": 1.0}})
    large = term_bonus.Bonus(100.0, 1.0)
    documents = term_bonus.unit_vectors(encoder, list(corpus.values()), "document")
    cosines = documents @ term_bonus.unit_vectors(encoder, [query], "query")[0]
    rank = 1 + int(np.sum(cosines > cosines[2]))
    assert rank > 1
    assert term_bonus.gains(encoder, task, [term_bonus.NONE])[term_bonus.NONE] == [pytest.approx(1 / np.log2(rank + 1))]
    assert term_bonus.gains(encoder, rare, [large])[large] == [1.0]
