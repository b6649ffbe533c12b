"""Documents listed and deleted by a filter, and their metadata changed, over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

TEAMS = ["hr", "it", "sales"]


@pytest.fixture
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("tickets")
    long = "A sentence that fills the page. " * 100
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


def test_documents_are_listed_in_order(api: Api) -> None:
    sales = [f"t{i:02}" for i in range(2, 20, 3)]
    assert listed(api, filter={"team": "sales"}) == sales
    assert listed(api, filter={"team": "sales"}, offset=2, limit=3) == sales[2:5]
    by_number = sorted(range(20), key=lambda i: (7 * i) % 20)
    assert listed(api, sort={"field": "n"}) == [f"t{i:02}" for i in by_number]
    assert listed(api, sort={"field": "n", "descending": True}, limit=3) == [f"t{i:02}" for i in by_number[:-4:-1]]
    assert api.ok("/collections/tickets/list", {})["documents"][0]["metadata"] == {"team": "hr", "n": 0}
    empty = api.http.post("/collections/tickets/list")
    assert (empty.status_code, len(empty.json()["documents"])) == (200, 20)


@pytest.mark.parametrize("sort", [None, {"field": "n"}, {"field": "team", "descending": True}, {"field": "none"}])
def test_pages_follow_each_other_without_gaps(api: Api, sort: dict[str, Any] | None) -> None:
    whole = listed(api, sort=sort)
    assert pages(api, sort=sort, limit=7) == whole
    assert pages(api, sort=sort, limit=7, offset=3) == whole[3:]


def test_a_cursor_by_id_survives_deletions(api: Api) -> None:
    page = api.ok("/collections/tickets/list", {"limit": 10})
    api.ok("/collections/tickets/delete", {"ids": ["t03", "t12"]})
    rest = listed(api, cursor=page["cursor"])
    assert rest == [f"t{i}" for i in range(10, 20) if i != 12]


def test_documents_are_deleted_by_filter(api: Api) -> None:
    before = api.http.get("/collections/tickets").json()["version"]
    done = api.ok("/collections/tickets/delete", {"filter": {"team": {"in": ["hr", "it"]}}, "min_version": before})
    assert (done["deleted"], done["warnings"]) == (14, [])
    assert api.http.get("/collections/tickets").json()["count"] == 6
    hits = api.ok("/search", {"query": "a page", "collection": "tickets", "k": 20, "min_version": done["version"]})
    assert {hit["metadata"]["team"] for hit in hits["results"][0]["hits"]} == {"sales"}
    again = api.ok("/collections/tickets/delete", {"filter": {"team": "hr"}})
    assert (again["deleted"], again["version"]) == (0, done["version"])


def test_documents_are_deleted_by_ids(api: Api) -> None:
    done = api.ok("/collections/tickets/delete", {"ids": ["t00", "t01", "gone"]})
    assert done["deleted"] == 2
    assert listed(api)[0] == "t02"


def test_metadata_change_without_the_text(api: Api) -> None:
    changes = [
        {"id": "t00", "metadata": {"state": "closed"}, "remove": ["n"]},
        {"id": "t01", "metadata": {"n": [1, "a"]}},
    ]
    answer = api.http.patch("/collections/tickets/documents", json={"documents": changes})
    assert (answer.status_code, answer.json()["changed"]) == (200, 2)
    assert api.http.get("/collections/tickets/documents/t00").json()["metadata"] == {"team": "hr", "state": "closed"}
    assert listed(api, filter={"state": "closed"}, min_version=answer.json()["version"]) == ["t00"]
    assert listed(api, filter={"n": "a"}) == ["t01"]
    hits = api.ok("/search", {"query": "a page", "collection": "tickets", "filter": {"state": "closed"}})
    assert [hit["id"] for hit in hits["results"][0]["hits"]] == ["t00"]


def test_concurrent_changes_of_one_document_are_all_kept(api: Api) -> None:
    def change(i: int) -> None:
        body = {"documents": [{"id": "t05", "metadata": {f"field {i}": i}}]}
        while (answer := api.http.patch("/collections/tickets/documents", json=body)).status_code != 200:
            assert answer.json()["code"] == "write_conflict"

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, range(6)))
    metadata = api.http.get("/collections/tickets/documents/t05").json()["metadata"]
    assert {f"field {i}": i for i in range(6)}.items() <= metadata.items()


def test_a_conditional_change_needs_an_unchanged_document(api: Api) -> None:
    address = "/collections/tickets/documents"
    first = api.http.get(f"{address}/t00").json()["version"]
    api.store("tickets", {"id": "t00", "text": "Two.", "if_version": first})
    changes = {"id": "t00", "metadata": {"a": 1}, "if_version": first}
    for refused in (
        api.http.post(address, json={"documents": [{"id": "t00", "text": "Three.", "if_version": first}]}),
        api.http.patch(address, json={"documents": [changes]}),
        api.http.delete(f"{address}/t00", params={"if_version": first}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "document_changed")
    bad = api.http.delete(f"{address}/t00", params={"if_version": "1"})
    assert (bad.status_code, bad.json()["code"]) == (422, "bad_version")
    now = api.http.get(f"{address}/t00").json()
    assert now["text"] == "Two."
    changed = api.http.patch(address, json={"documents": [changes | {"if_version": now["version"]}]})
    assert changed.status_code == 200
    found = api.ok("/search", {"query": "two", "collection": "tickets"})["version"]
    assert found == changed.json()["version"], "the version of a search serves as well"
    assert api.http.delete(f"{address}/t00", params={"if_version": found}).status_code == 200


LARGE = {"id": "t00", "metadata": {"large": "x" * 65_520}}


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ([{"id": "t00", "metadata": {"a": 1}}, {"id": "none", "remove": ["n"]}], 404, "unknown_document"),
        ([{"id": "t00", "metadata": {"a": 1}}, {"id": "t00", "remove": ["n"]}], 422, "duplicate_id"),
        ([LARGE], 422, "metadata_too_large"),
        ([{"id": "t00"}], 422, "invalid_request"),
        ([{"id": "t00", "metadata": {"n": 1}, "remove": ["n"]}], 422, "invalid_value"),
        ([{"id": "t00", "text": "Another.", "metadata": {"n": 1}}], 422, "unknown_field"),
        ([{"id": "t00", "metadata": {"n": 1}, "if_version": "9"}], 422, "bad_version"),
        ([], 422, "out_of_range"),
    ],
)
def test_a_refused_change_changes_nothing(api: Api, changes: list[dict[str, Any]], status: int, code: str) -> None:
    before = api.http.get("/collections/tickets/documents/t00").json()
    answer = api.http.patch("/collections/tickets/documents", json={"documents": changes})
    codes = [each["code"] for each in answer.json().get("problems", ())] or [answer.json()["code"]]
    assert (answer.status_code, code in [*codes, answer.json()["code"]]) == (status, True), answer.text
    assert api.http.get("/collections/tickets/documents/t00").json() == before


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("list", {"cursor": "x"}, "bad_cursor"),
        ("list", {"cursor": "WzFd"}, "bad_cursor"),
        ("list", {"cursor": "W1tb" * 500}, "bad_cursor"),
        ("list", {"cursor": "WyJhIiwwXQ==", "offset": 1}, "invalid_request"),
        ("list", {"limit": 1001}, "out_of_range"),
        ("list", {"offset": -1}, "out_of_range"),
        ("list", {"sort": "n"}, "invalid_value"),
        ("list", {"sort": {"field": ""}}, "out_of_range"),
        ("list", {"filter": {"n": {"like": 1}}}, "bad_filter"),
        ("delete", {}, "invalid_request"),
        ("delete", {"filter": {}}, "bad_filter"),
        ("delete", {"ids": [], "filter": None}, "out_of_range"),
        ("delete", {"ids": ["t00"], "filter": {"n": 1}}, "invalid_request"),
        ("delete", {"ids": ["t00"] * 1001}, "out_of_range"),
    ],
)
def test_bad_lists_and_deletions_are_refused(api: Api, path: str, body: dict[str, object], code: str) -> None:
    answer = api.http.post(f"/collections/tickets/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert api.http.get("/collections/tickets").json()["count"] == 20
