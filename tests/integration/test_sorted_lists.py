"""Lists of 5,000 documents by fields, offsets and cursors, during writes, against a sort in plain Python."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest

from tests.integration.conftest import Api, served
from tests.support.small_model import write_glove

DOCUMENTS, CHANGED = 5_000, 1_000
PAGE = 700
AT = "/collections/sorted"
VALUES: Sequence[Any] = (None, True, False, -1.5, 3, 3.0, 10**9, "a", "B", "é", ["b", 2], {})  # {}: no such field
KINDS = {type(None): 0, bool: 1, int: 2, float: 2, str: 3}

pytestmark = [pytest.mark.nightly, pytest.mark.slow]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("words")
    write_glove(folder / "words.txt", ["lamp", "parcel"])
    with served(models=f"words={folder}/words.txt") as (_, api):
        api.collection("sorted")
        yield api


def metadata_of(rng: random.Random) -> dict[str, Any]:
    value = rng.choice(VALUES)
    return {"n": rng.randrange(300)} | ({} if value == {} else {"v": value})


def ranked(value: Any) -> tuple[int, Any]:
    return KINDS[type(value)], 0 if value is None else value


def order(documents: Mapping[str, Mapping[str, Any]], field: str, *, descending: bool) -> list[str]:
    """Ids by a field and then by id; those without it come last, and a list counts by what comes first."""

    def key(doc_id: str) -> tuple[int, Any]:
        value = documents[doc_id][field]
        values = [ranked(each) for each in (value if isinstance(value, list) else [value])]
        return max(values) if descending else min(values)

    having = sorted(doc_id for doc_id in documents if field in documents[doc_id])
    without = sorted(documents.keys() - set(having))
    return [*sorted(having, key=key, reverse=descending), *without]  # equals stay in the order of their ids


def pages(api: Api, **body: object) -> Iterator[list[dict[str, Any]]]:
    cursor = None
    while True:
        page = api.ok(f"{AT}/list", {**body, "cursor": cursor, "limit": PAGE})
        yield page["documents"]
        if (cursor := page["cursor"]) is None:
            return


Documents: TypeAlias = dict[str, dict[str, Any]]


def stored(api: Api, rng: random.Random) -> Documents:
    documents = {f"d{i:04}": metadata_of(rng) for i in range(DOCUMENTS)}
    for start in range(0, DOCUMENTS, 250):
        put(api, {each: documents[each] for each in [*documents][start : start + 250]})
    return documents


def put(api: Api, documents: Documents) -> None:
    api.store("sorted", *({"id": each, "text": "lamp", "metadata": own} for each, own in documents.items()))


@contextmanager
def changed_all_the_time(api: Api, documents: Documents, changing: Sequence[str], rng: random.Random) -> Iterator[None]:
    """Replace and delete some documents until the block ends; `documents` then has what is stored."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            some = rng.sample(changing, 20)
            changed = {each: metadata_of(rng) for each in some[:15]}
            put(api, changed)
            api.ok(f"{AT}/delete", {"ids": some[15:]})
            documents.update(changed)
            for each in some[15:]:
                documents.pop(each, None)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            yield
        finally:
            stop.set()
        writing.result()


@pytest.mark.parametrize("descending", [False, True])
def test_lists_agree_with_a_plain_sort_during_writes(api: Api, *, descending: bool) -> None:
    rng = random.Random(descending)
    documents = stored(api, rng)
    changing = rng.sample([*documents], CHANGED)
    stable = {each: documents[each] for each in documents.keys() - set(changing)}
    with changed_all_the_time(api, documents, changing, rng):
        seen = [each["id"] for page in pages(api) for each in page]
        assert [each for each in seen if each in stable] == sorted(stable)
        assert len(seen) == len(set(seen))
        for field in ("n", "v"):
            places = {each: i for i, each in enumerate(order(stable, field, descending=descending))}
            for page in pages(api, sort={"field": field, "descending": descending}):
                found = [places[each["id"]] for each in page if each["id"] in stable]
                assert found == sorted(found)
    for field in ("n", "v"):
        sort, whole = {"field": field, "descending": descending}, order(documents, field, descending=descending)
        assert [each["id"] for page in pages(api, sort=sort) for each in page] == whole
        for offset in rng.sample(range(len(whole)), 5):
            page = api.ok(f"{AT}/list", {"sort": sort, "offset": offset, "limit": PAGE})["documents"]
            assert [each["id"] for each in page] == whole[offset : offset + PAGE]
    beyond = api.ok(f"{AT}/list", {"sort": {"field": "n"}, "offset": len(documents)})
    assert (beyond["documents"], beyond["cursor"]) == ([], None)
