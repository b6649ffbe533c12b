"""Searches for codes: documents that have them come first, and what no document has is named."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

MODES = ["lexical", "hybrid", "auto"]
FAULTS = ["leaks water", "stops in the night", "shows an error", "smells of smoke", "makes a noise", "does not heat"]
MACHINES = ["coffee machine", "washing machine", "dishwasher", "boiler"]
TICKETS = {
    f"t{i:03}": f"The {MACHINES[i % 4]} {FAULTS[i % 6]} after {2 + i % 3} days: E-{100 + i}. It has order {76500 + i}."
    for i in range(60)
}
PLAIN = {"money": "Refunds are paid within five days.", "flat": "A flat with 2 bedrooms, built in 1998."}


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("tickets", tokens="int8")
    api.store("tickets", *({"id": key, "text": text} for key, text in {**TICKETS, **PLAIN}.items()))
    return api


def search(api: Api, query: str, **options: object) -> dict[str, Any]:
    [found] = api.ok("/search", {"query": query, "collection": "tickets", **options})["results"]
    return dict(found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["{}", "my coffee machine shows error {}", "what is the state of {}?"])
def test_documents_with_the_code_of_a_query_come_first(api: Api, mode: str, form: str) -> None:
    for i in (0, 13, 17, 59):
        for code in (f"E-{100 + i}", f"{76500 + i}"):
            found = search(api, form.format(code), mode=mode, k=5)
            assert found["codes"] == [code.lower()]
            assert [hit["id"] for hit in found["hits"]][:1] == [f"t{i:03}"]
            assert [hit["lexical"]["codes"] for hit in found["hits"]] == ["all", *["none"] * (len(found["hits"]) - 1)]
            assert found["missing_terms"] in ([], ["state"])


@pytest.mark.parametrize("measure", ["cosine", "rcmd_words"])
def test_all_codes_come_before_some(api: Api, measure: str) -> None:
    found = search(api, "E-117 of order 76517, not E-118", mode="hybrid", measure=measure, k=4, explain=True)
    assert found["codes"] == ["e-117", "76517", "e-118"]
    assert [(hit["id"], hit["lexical"]["codes"]) for hit in found["hits"][:2]] == [("t017", "some"), ("t018", "some")]
    both = search(api, "E-117 of order 76517", mode="hybrid", measure=measure, k=4, min_score=-1)
    assert [hit["lexical"]["codes"] for hit in both["hits"]] == ["all", "none", "none", "none"]
    for hit in [*found["hits"], *both["hits"]]:
        assert hit["lexical"]["combined"] == pytest.approx(hit["score"] + hit["lexical"]["bonus"], abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_code_that_no_document_has_is_missing(api: Api, mode: str) -> None:
    found = search(api, "my boiler shows E-999", mode=mode, highlight=True)
    assert (found["codes"], found["missing_terms"]) == (["e-999"], ["E-999"])
    for hit in found["hits"]:
        assert not hit["lexical"] or not {term["term"] for term in hit["lexical"]["terms"]} & {"e", "999", "e-999"}
        marked = [hit["text"][mark["start"] : mark["end"]] for mark in hit["highlight"]["marks"]]
        assert not any(character.isdigit() for mark in marked for character in mark)


@pytest.mark.parametrize("mode", MODES)
def test_a_code_is_the_same_however_it_is_joined(api: Api, mode: str) -> None:
    for query in ("E117", "e_117", "E–117", "my boiler shows E117"):
        found = search(api, query, mode=mode, k=2)
        assert (found["hits"][0]["id"], found["hits"][0]["lexical"]["codes"]) == ("t017", "all"), query
        assert (len(found["codes"]), found["missing_terms"]) == (1, []), query
        [code] = [term for term in found["hits"][0]["lexical"]["terms"] if term["term"] == found["codes"][0]]
        start, end = code["spans"][0]
        assert TICKETS["t017"][start:end] == "E-117"


@pytest.mark.parametrize(
    "query", ["E-999", "E999", "EE-117", "ER-117", "What is E-999?", "after E-999 days", "E-999 Zyzzyva"]
)
def test_a_missing_code_alone_has_no_good_match(api: Api, query: str) -> None:
    found = search(api, query)
    assert found["no_good_match"] is True
    assert found["missing_terms"]


@pytest.mark.parametrize("query", ["E-117", "E117", "my washing machine smells of smoke and shows E-999"])
def test_a_found_code_or_more_words_are_a_match(api: Api, query: str) -> None:
    assert search(api, query)["no_good_match"] is False


def test_words_that_no_document_has_are_missing(api: Api) -> None:
    found = search(api, "Where is the Zyzzyva of my BOILER?", mode="hybrid")
    assert found["missing_terms"] == ["Zyzzyva"]
    assert search(api, "boiler", mode="hybrid", filter={"shop": "none"})["missing_terms"] == ["boiler"]
    assert search(api, "Zyzzyva", mode="vector")["missing_terms"] == [], "mode vector does not look at terms"


@pytest.mark.parametrize("query", ["a flat with 2 bedrooms", "built in 1998", "boilers of the 1990s, the 3rd"])
def test_plain_numbers_are_ordinary_terms(api: Api, query: str) -> None:
    assert search(api, query, mode="hybrid")["codes"] == []


def test_a_code_of_many_documents_is_an_ordinary_term(api: Api) -> None:
    for i in range(4):
        api.store("tickets", {"id": f"covid-{i}", "text": f"Rule {i} about covid-19."})
    found = search(api, "rule about covid-19", mode="hybrid", k=4)
    assert found["codes"] == []
    assert {hit["id"] for hit in found["hits"]} == {f"covid-{i}" for i in range(4)}
    assert {hit["lexical"]["codes"] for hit in found["hits"]} == {None}
    assert search(api, "covid-19", mode="hybrid")["codes"] == ["covid-19"], "what else should it mean"


@pytest.fixture(scope="module")
def orders(api: Api) -> Api:
    """Tickets whose order numbers are in their ids and metadata only."""
    api.collection("orders")
    documents = [
        {
            "id": f"Order-{i}",
            "text": text,
            "metadata": {"order_no": f"A-{77000 + i}", "number": 88000 + i, "tags": tags},
        }
        for i, (text, tags) in enumerate([("The lamp is broken.", []), ("My parcel never came.", ["X9-b", "vip"])])
    ]
    documents.append({"id": "50000", "text": "Parcels are insured.", "metadata": {}})
    documents.append({"id": "long", "text": "Lamps are sold here. " * 400, "metadata": {"order_no": "a-77009"}})
    api.store("orders", *documents, {"id": "other", "text": "Is it A-77000?", "metadata": {}})
    return api


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "first", "fields"),
    [
        ("A-77001", "Order-1", ["order_no"]),
        ("a-77001", "Order-1", ["order_no"]),
        ("A77001", "Order-1", ["order_no"]),
        ("is my lamp there, A–77001", "Order-1", ["order_no"]),
        ("88001", "Order-1", ["number"]),
        ("X9-b", "Order-1", ["tags"]),
        ("Order-1", "Order-1", ["id"]),
        ("A-77009", "long", ["order_no"]),
        ("50000", "50000", ["id"]),
    ],
)
def test_codes_in_ids_and_metadata_are_found(orders: Api, mode: str, query: str, first: str, fields: list[str]) -> None:
    found = search(orders, query, collection="orders", mode=mode, k=3)
    assert (found["hits"][0]["id"], len(found["codes"])) == (first, 1)
    assert [hit["lexical"]["codes"] for hit in found["hits"]] == ["all", *["none"] * (len(found["hits"]) - 1)]
    assert found["hits"][0]["lexical"]["code_fields"] == fields
    assert found["missing_terms"] == []
    assert not found["no_good_match"]


def test_a_number_in_a_sentence_is_no_row(orders: Api) -> None:
    found = search(orders, "Is there a lamp of 50000 lumens?", collection="orders")
    assert found["hits"][0]["id"] != "50000"
    assert found["codes"] == ["50000"]
    assert found["missing_terms"] == ["50000", "lumens"]


def test_codes_of_text_and_metadata_count_alike(orders: Api) -> None:
    found = search(orders, "A-77000", collection="orders")
    assert [hit["id"] for hit in found["hits"]][:2] == ["Order-0", "other"], "named before mentioned"
    assert {hit["id"]: hit["lexical"]["codes"] for hit in found["hits"]} == {
        "Order-0": "all",
        "other": "all",
        "Order-1": "none",
        "long": "none",
        "50000": "none",
    }
    filtered = search(orders, "A-77000", collection="orders", filter={"order_no": {"exists": False}})
    assert [hit["id"] for hit in filtered["hits"]] == ["other", "50000"]
    orders.store("orders", {"id": "Order-0", "text": "The lamp is broken.", "metadata": {"order_no": "A-77055"}})
    assert search(orders, "A-77055", collection="orders")["hits"][0]["id"] == "Order-0"
    assert search(orders, "A-77000", collection="orders")["hits"][0]["id"] == "other"
