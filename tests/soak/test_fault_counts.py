"""The checks of the fault tests detect every kind of wrong answer."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.soak.traffic.checks import Checks, Kind, Oracle
from tests.soak.traffic.ledger import Ledger, State, Stored
from tests.soak.traffic.names import EMPTY, GLOSSARY, Names, stored_names
from tests.soak.traffic.reader import WEIGHTS
from tests.soak.traffic.request_log import READS, PairAnswer, RequestLog, SearchAnswer
from tests.support.servers.word_models import WORDS, write_model

QUERY, OLD, NEW = " ".join(WORDS[:3]), " ".join(WORDS[2:6]), " ".join(WORDS[5:8])
WRITES: list[tuple[str, dict[str, State]]] = [
    ("e:1", {"a": Stored(OLD), "b": Stored(OLD)}),
    ("e:2", {"a": Stored(NEW)}),
    ("e:3", {"b": None}),
]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle({"plain": write_model(tmp_path_factory.mktemp("model") / "plain.npz", 0)})


@pytest.fixture
def ledger() -> Ledger:
    """a is OLD at version 1 and NEW from 2; b is deleted at 3; the write of c is unanswered."""
    ledger = Ledger()
    ledger.begin("e:0", {})
    for version, change in WRITES:
        ledger.attempt(change)
        ledger.acknowledge(change, version)
    ledger.attempt({"c": Stored(NEW)})
    return ledger


def true_score(oracle: Oracle, text: str) -> float:
    return oracle.error_of(oracle.spaces[0], QUERY, text, -1.0) - 1.0


def faults(
    ledger: Ledger, oracle: Oracle, version: str, texts: dict[str, str], off_by: float = 0.0
) -> Mapping[Kind, int]:
    """Faults in the answer to a search for everything that returns these documents."""
    hits = [(doc_id, text, true_score(oracle, text) + off_by) for doc_id, text in texts.items()]
    log = RequestLog(searches=[SearchAnswer(QUERY, version, oracle.spaces[0], hits, complete=True, after="e:2")])
    checks = Checks(ledger, oracle)
    checks.check_log(log)
    return checks.findings.faults


@pytest.mark.parametrize("unknown", [{}, {"c": NEW}])
def test_acknowledged_states_are_right_whatever_unanswered_writes_did(
    ledger: Ledger, oracle: Oracle, unknown: dict[str, str]
) -> None:
    assert faults(ledger, oracle, "e:2", {"a": NEW, "b": OLD, **unknown}) == {}
    assert faults(ledger, oracle, "e:3", {"a": NEW, **unknown}) == {}


def test_lost_and_outdated_documents_are_counted(ledger: Ledger, oracle: Oracle) -> None:
    assert faults(ledger, oracle, "e:3", {}) == {"missing": 1}
    assert faults(ledger, oracle, "e:3", {"a": OLD}) == {"missing": 1}


def test_a_deleted_document_is_counted_from_its_deletion_on(ledger: Ledger, oracle: Oracle) -> None:
    assert faults(ledger, oracle, "e:2", {"a": NEW, "b": OLD}) == {}
    assert faults(ledger, oracle, "e:3", {"a": NEW, "b": OLD}) == {"deleted seen": 1}


def test_stale_answers_and_unknown_epochs_are_counted(ledger: Ledger, oracle: Oracle) -> None:
    assert faults(ledger, oracle, "e:1", {"a": OLD, "b": OLD}) == {"stale": 1}
    assert faults(ledger, oracle, "other:3", {"a": NEW}) == {"stale": 1}


@pytest.mark.parametrize(("off_by", "expected"), [(9e-6, {}), (-1.1e-5, {"wrong score": 1})])
def test_a_score_beyond_the_bound_is_counted(
    ledger: Ledger, oracle: Oracle, off_by: float, expected: dict[str, int]
) -> None:
    assert faults(ledger, oracle, "e:3", {"a": NEW}, off_by) == expected


def test_an_explanation_with_a_wrong_sum_is_counted(ledger: Ledger, oracle: Oracle) -> None:
    score = true_score(oracle, OLD)
    checks = Checks(ledger, oracle)
    checks.check_log(RequestLog(pairs=[PairAnswer(QUERY, OLD, oracle.spaces[0], score, score + 2e-5)]))
    assert checks.findings.faults == {"wrong score": 1}


def test_an_unanswered_write_is_settled_by_the_stored_documents(ledger: Ledger, oracle: Oracle) -> None:
    assert ledger.settle({"a": Stored(NEW), "c": Stored(NEW)}, "e:4") == 1
    assert faults(ledger, oracle, "e:4", {"a": NEW}) == {"missing": 1}
    assert faults(ledger, oracle, "e:4", {"a": NEW, "c": NEW}) == {}
    assert faults(ledger, oracle, "e:3", {"a": NEW, "c": NEW}) == {}
    assert faults(ledger, oracle, "e:3", {"a": NEW}) == {}
    assert faults(ledger, oracle, "e:3", {"a": NEW, "c": OLD}) == {"missing": 1}


def test_every_kind_of_read_is_sent_and_counted() -> None:
    assert set(WEIGHTS) == set(READS)


def test_names_are_those_acknowledged_and_stored() -> None:
    names = Names()
    for name, value in (("a", "full"), ("b", "full"), ("b", EMPTY), ("c", EMPTY), ("c", None), (GLOSSARY, "term")):
        names.open.add(name)
        names.acknowledge(name, value)
    aliases = {"aliases": [{"name": "a", "collection": "full"}, {"name": "b", "collection": EMPTY}]}
    assert stored_names(aliases, {"groups": [{"terms": ["term", "a phrase"]}]}) == names.now
    assert stored_names(aliases, {"groups": []}) != names.now
    assert names.without("full") == {"b": EMPTY}
    assert not names.open
