"""Documents listed and deleted by a filter, and their metadata changed, over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api, code_of

TEAMS = ["hr", "it", "sales"]
ADDRESS = "/collections/tickets/documents"


@pytest.fixture
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("tickets")
    long = "A sentence that fills the page. " * 40  # two passages
    metadata = [{"team": TEAMS[i % 3], "n": (7 * i) % 20} for i in range(20)]
    api.store("tickets", *({"id": f"t{i:02}", "text": long, "metadata": each} for i, each in enumerate(metadata)))
    return api


def listed(api: Api, **body: object) -> list[str]:
    return [each["id"] for each in api.ok("/collections/tickets/list", body)["documents"]]


def pages(api: Api, **body: object) -> list[str]:
    ids: list[str] = []
    page = api.ok("/collections/tickets/list", body)
    while True:
        ids += [each["id"] for each in page["documents"]]
        if page["cursor"] is None:
            return ids
        page = api.ok("/collections/tickets/list", body | {"cursor": page["cursor"], "offset": 0})


def test_documents_are_listed_in_order_and_pages(api: Api) -> None:
    sales = [f"t{i:02}" for i in range(2, 20, 3)]
    assert listed(api, filter={"team": "sales"}) == sales
    assert listed(api, filter={"team": "sales"}, offset=2, limit=3) == sales[2:5]
    by_number = sorted(range(20), key=lambda i: (7 * i) % 20)
    assert listed(api, sort={"field": "n"}) == [f"t{i:02}" for i in by_number]
    assert listed(api, sort={"field": "n", "descending": True}, limit=3) == [f"t{i:02}" for i in by_number[:-4:-1]]
    assert api.ok("/collections/tickets/list", {})["documents"][0]["metadata"] == {"team": "hr", "n": 0}
    empty = api.http.post("/collections/tickets/list")
    assert (empty.status_code, len(empty.json()["documents"])) == (200, 20)
    for sort in (None, {"field": "n"}, {"field": "team", "descending": True}, {"field": "none"}):
        whole = listed(api, sort=sort)
        assert pages(api, sort=sort, limit=7) == whole
        assert pages(api, sort=sort, limit=7, offset=3) == whole[3:]


def test_documents_are_deleted_by_ids_below_a_cursor(api: Api) -> None:
    page = api.ok("/collections/tickets/list", {"limit": 10})
    assert api.ok("/collections/tickets/delete", {"ids": ["t03", "t12", "gone"]})["deleted"] == 2
    assert listed(api, cursor=page["cursor"]) == [f"t{i}" for i in range(10, 20) if i != 12]


def test_documents_are_deleted_by_filter(api: Api) -> None:
    before = api.get("/collections/tickets")["version"]
    done = api.ok("/collections/tickets/delete", {"filter": {"team": {"in": ["hr", "it"]}}, "min_version": before})
    assert (done["deleted"], done["warnings"]) == (14, [])
    assert api.get("/collections/tickets")["count"] == 6
    hits = api.hits("a page", collection="tickets", k=20, min_version=done["version"])
    assert {hit["metadata"]["team"] for hit in hits} == {"sales"}
    again = api.ok("/collections/tickets/delete", {"filter": {"team": "hr"}})
    assert (again["deleted"], again["version"]) == (0, done["version"])


def test_metadata_change_without_the_text(api: Api) -> None:
    changes = [
        {"id": "t00", "metadata": {"state": "closed"}, "remove": ["n"]},
        {"id": "t01", "metadata": {"n": [1, "a"]}},
    ]
    answer = api.http.patch(ADDRESS, json={"documents": changes})
    assert (answer.status_code, answer.json()["changed"]) == (200, 2)
    assert api.get(f"{ADDRESS}/t00")["metadata"] == {"team": "hr", "state": "closed"}
    assert listed(api, filter={"state": "closed"}, min_version=answer.json()["version"]) == ["t00"]
    assert listed(api, filter={"n": "a"}) == ["t01"]
    assert [hit["id"] for hit in api.hits("a page", collection="tickets", filter={"state": "closed"})] == ["t00"]


def test_concurrent_changes_of_one_document_are_all_kept(api: Api) -> None:
    def change(i: int) -> int:
        return api.http.patch(ADDRESS, json={"documents": [{"id": "t05", "metadata": {f"field {i}": i}}]}).status_code

    with ThreadPoolExecutor(30) as pool:
        assert set(pool.map(change, range(30))) == {200}
    assert {f"field {i}": i for i in range(30)}.items() <= api.get(f"{ADDRESS}/t05")["metadata"].items()


def test_a_conditional_change_needs_an_unchanged_document(api: Api) -> None:
    first = api.get(f"{ADDRESS}/t00")["version"]
    api.store("tickets", {"id": "t00", "text": "Two.", "if_version": first})
    changes = {"id": "t00", "metadata": {"a": 1}, "if_version": first}
    for refused in (
        api.http.post(ADDRESS, json={"documents": [{"id": "t00", "text": "Three.", "if_version": first}]}),
        api.http.patch(ADDRESS, json={"documents": [changes]}),
        api.http.delete(f"{ADDRESS}/t00", params={"if_version": first}),
    ):
        assert code_of(refused) == (409, "document_changed")
    assert code_of(api.http.delete(f"{ADDRESS}/t00", params={"if_version": "1"})) == (422, "bad_version")
    now = api.get(f"{ADDRESS}/t00")
    assert now["text"] == "Two."
    changed = api.http.patch(ADDRESS, json={"documents": [changes | {"if_version": now["version"]}]})
    assert changed.status_code == 200
    found = api.ok("/search", {"query": "two", "collection": "tickets"})["version"]
    assert found == changed.json()["version"], "the version of a search serves as well"
    assert api.http.delete(f"{ADDRESS}/t00", params={"if_version": found}).status_code == 200


def test_a_refused_change_changes_nothing(api: Api) -> None:
    change = {"id": "t00", "metadata": {"n": 1}}
    refusals: list[tuple[list[dict[str, Any]], int, str]] = [
        ([change, {"id": "none", "remove": ["n"]}], 404, "unknown_document"),
        ([change, {"id": "t00", "remove": ["n"]}], 422, "duplicate_id"),
        ([{"id": "t00", "metadata": {"large": "x" * 65_520}}], 422, "metadata_too_large"),
        ([{"id": "t00"}], 422, "invalid_request"),
        ([change | {"remove": ["n"]}], 422, "invalid_value"),
        ([change | {"text": "Another."}], 422, "unknown_field"),
        ([change | {"if_version": "9"}], 422, "bad_version"),
        ([], 422, "out_of_range"),
    ]
    before = api.get(f"{ADDRESS}/t00")
    for changes, status, code in refusals:
        answer = api.http.patch(ADDRESS, json={"documents": changes})
        codes = {answer.json()["code"], *(each["code"] for each in answer.json().get("problems", ()))}
        assert (answer.status_code, code in codes) == (status, True), answer.text
        assert api.get(f"{ADDRESS}/t00") == before
