"""What the fault tests count can be counted: each thing that must not happen is seen where it does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.soak.traffic.checks import Checks, Kind
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.oracle import Oracle
from tests.soak.traffic.tally import PairAnswer, SearchAnswer, Tally
from tests.support.servers.word_models import WORDS, write_model

QUERY, OLD, NEW = " ".join(WORDS[:3]), " ".join(WORDS[2:6]), " ".join(WORDS[5:8])


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle({"plain": write_model(tmp_path_factory.mktemp("model") / "plain.npz", 0)})


@pytest.fixture
def ledger() -> Ledger:
    """Document a was OLD at version 1 and is NEW since 2; b was deleted at 3; of c nobody knows."""
    ledger = Ledger()
    ledger.begin("e:0", {})
    for version, change in (("e:1", {"a": OLD, "b": OLD}), ("e:2", {"a": NEW}), ("e:3", {"b": None})):
        ledger.attempt(change)
        ledger.acknowledge(change, version)
    ledger.attempt({"c": NEW})
    return ledger


def true_score(oracle: Oracle, text: str) -> float:
    return oracle.off_by(oracle.spaces[0], QUERY, text, -1.0) - 1.0


def counted(
    ledger: Ledger, oracle: Oracle, version: str, texts: dict[str, str], off_by: float = 0.0
) -> Mapping[Kind, int]:
    """What is found wrong with a search for all that answers with these documents."""
    hits = [(doc_id, text, true_score(oracle, text) + off_by) for doc_id, text in texts.items()]
    tally = Tally(searches=[SearchAnswer(QUERY, version, oracle.spaces[0], hits, whole=True, after="e:2")])
    checks = Checks(ledger, oracle)
    checks.all_of(tally)
    return checks.findings.faults


@pytest.mark.parametrize("unknown", [{}, {"c": NEW}])
def test_answers_as_acknowledged_are_right_whatever_became_of_the_unanswered(
    ledger: Ledger, oracle: Oracle, unknown: dict[str, str]
) -> None:
    assert counted(ledger, oracle, "e:2", {"a": NEW, "b": OLD, **unknown}) == {}
    assert counted(ledger, oracle, "e:3", {"a": NEW, **unknown}) == {}


def test_a_lost_document_is_counted_and_so_is_one_with_its_former_text(ledger: Ledger, oracle: Oracle) -> None:
    assert counted(ledger, oracle, "e:3", {}) == {"missing": 1}
    assert counted(ledger, oracle, "e:3", {"a": OLD}) == {"missing": 1}


def test_a_deleted_document_is_counted_once_its_version_has_passed(ledger: Ledger, oracle: Oracle) -> None:
    assert counted(ledger, oracle, "e:2", {"a": NEW, "b": OLD}) == {}
    assert counted(ledger, oracle, "e:3", {"a": NEW, "b": OLD}) == {"deleted seen": 1}


def test_answers_older_than_asked_for_or_of_a_life_that_never_was_are_counted(ledger: Ledger, oracle: Oracle) -> None:
    assert counted(ledger, oracle, "e:1", {"a": OLD, "b": OLD}) == {"stale": 1}
    assert counted(ledger, oracle, "other:3", {"a": NEW}) == {"stale": 1}


@pytest.mark.parametrize(("off_by", "wrong"), [(9e-6, {}), (-1.1e-5, {"wrong score": 1})])
def test_a_score_beyond_the_bound_is_counted(
    ledger: Ledger, oracle: Oracle, off_by: float, wrong: dict[str, int]
) -> None:
    assert counted(ledger, oracle, "e:3", {"a": NEW}, off_by) == wrong


def test_an_explanation_that_does_not_sum_to_the_score_is_counted(ledger: Ledger, oracle: Oracle) -> None:
    score = true_score(oracle, OLD)
    checks = Checks(ledger, oracle)
    checks.all_of(Tally(pairs=[PairAnswer(QUERY, OLD, oracle.spaces[0], score, score + 2e-5)]))
    assert checks.findings.faults == {"wrong score": 1}


def test_an_unanswered_write_is_settled_by_what_was_found(ledger: Ledger, oracle: Oracle) -> None:
    assert ledger.settle({"a": NEW, "c": NEW}, "e:4") == 1
    assert counted(ledger, oracle, "e:4", {"a": NEW}) == {"missing": 1}
    assert counted(ledger, oracle, "e:4", {"a": NEW, "c": NEW}) == {}
    assert counted(ledger, oracle, "e:3", {"a": NEW, "c": NEW}) == {}
    assert counted(ledger, oracle, "e:3", {"a": NEW}) == {}
    assert counted(ledger, oracle, "e:3", {"a": NEW, "c": OLD}) == {"missing": 1}
