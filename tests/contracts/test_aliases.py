"""Laws of aliases in every document store: a name means one thing, whatever else happens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import AliasConflict, UnknownAlias, UnknownCollection
from semblance.service.ports.documents import CollectionSettings

SETTINGS = CollectionSettings("minilm", "space-1", 4, "cosine", "exact", "none")
NAME = st.sampled_from("abcd")
ACTIONS = ["create", "create", "drop", "set_alias", "set_alias", "drop_alias", "begin_epoch"]


@pytest.fixture
def store(engine: Engine) -> SqlDocumentStore:
    """A store with two empty collections, v1 and v2."""
    store = SqlDocumentStore(engine)
    for name in ("v1", "v2"):
        store.create(name, SETTINGS)
    return store


def test_an_alias_leads_to_the_collection_set_last(store: SqlDocumentStore) -> None:
    assert store.set_alias("now", "v1")
    assert store.resolve("now") == "v1"
    assert not store.set_alias("now", "v2")
    assert not store.set_alias("now", "v2")
    assert [store.resolve(name) for name in ("now", "v1", "nothing")] == ["v2", "v1", "nothing"]
    assert store.aliases() == {"now": "v2"}
    store.drop_alias("now")
    assert store.aliases() == {}
    with pytest.raises(UnknownAlias, match="alias 'now' does not exist: GET /aliases"):
        store.drop_alias("now")


def test_a_deleted_collection_takes_its_aliases_along(store: SqlDocumentStore) -> None:
    for name, collection in (("a", "v1"), ("b", "v2"), ("c", "v1")):
        store.set_alias(name, collection)
    store.drop("v1")
    assert store.collections_and_aliases() == ([store.collection("v2")], {"b": "v2"})
    store.create("a", SETTINGS)  # the name is free again


def test_a_copy_that_is_made_again_keeps_its_aliases(store: SqlDocumentStore) -> None:
    store.set_alias("now", "v1")
    store.set_alias("next", "v2")
    store.begin_epoch(store.collection("v1"))
    assert store.aliases() == {"next": "v2", "now": "v1"}
    store.replace_aliases({"now": "v2", "gone": "none"})
    assert store.aliases() == {"now": "v2"}


def test_refused_names_change_nothing(store: SqlDocumentStore) -> None:
    store.set_alias("now", "v1")
    before = store.collections_and_aliases()
    with pytest.raises(UnknownCollection, match="no collection 'none' for the alias: create it first"):
        store.set_alias("now", "none")
    with pytest.raises(UnknownCollection, match=r"no collection 'now'.* leads to no other alias"):
        store.set_alias("other", "now")
    with pytest.raises(AliasConflict, match="'v2' is a collection: choose another name"):
        store.set_alias("v2", "v1")
    with pytest.raises(AliasConflict, match=r"'now' is an alias of collection 'v1': .* DELETE /aliases/now"):
        store.create("now", SETTINGS)
    with pytest.raises(AliasConflict, match="'now' is an alias of collection 'v1': delete that collection by its own"):
        store.drop("now")
    assert store.collections_and_aliases() == before


class Names:
    """Expected meaning of names after operations on a store; refused ones change nothing."""

    def __init__(self, store: SqlDocumentStore) -> None:
        self.store = store
        self.collections: set[str] = set()
        self.aliases: dict[str, str] = {}

    def create(self, name: str, _: str) -> None:
        self.store.create(name, SETTINGS)
        self.collections.add(name)

    def drop(self, name: str, _: str) -> None:
        self.store.drop(name)
        self.collections.remove(name)
        self.aliases = {alias: target for alias, target in self.aliases.items() if target != name}

    def set_alias(self, name: str, target: str) -> None:
        assert self.store.set_alias(name, target) == (name not in self.aliases)
        self.aliases[name] = target

    def drop_alias(self, name: str, _: str) -> None:
        self.store.drop_alias(name)
        del self.aliases[name]

    def begin_epoch(self, name: str, _: str) -> None:
        """In a copy, whose aliases stay."""
        self.store.begin_epoch(self.store.collection(name))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(ACTIONS), NAME, NAME), max_size=25))
def test_any_history_leaves_each_name_one_meaning(engine: Engine, steps: list[tuple[str, str, str]]) -> None:
    store = SqlDocumentStore(engine)
    for former in store.collections():
        store.drop(former.name)
    names = Names(store)
    for action, name, other in steps:
        with suppress(AliasConflict, UnknownAlias, UnknownCollection):
            getattr(names, action)(name, other)
        assert ({each.name for each in store.collections()}, store.aliases()) == (names.collections, names.aliases)
        assert not names.collections & names.aliases.keys()
        assert [store.resolve(each) for each in "abcd"] == [names.aliases.get(each, each) for each in "abcd"]


def test_of_a_race_for_a_name_one_side_wins(postgres: str) -> None:
    store = SqlDocumentStore(postgresql_engine(postgres, connections=4, timeout_s=60))
    store.create("v1", SETTINGS)

    def attempt(act: str) -> bool:
        try:
            store.create("now", SETTINGS) if act == "create" else store.set_alias("now", "v1")
        except AliasConflict:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for _ in range(30):
            assert sum(pool.map(attempt, ("create", "set_alias"))) == 1
            if store.aliases():
                store.drop_alias("now")
            else:
                store.drop("now")
    store.close()


def test_a_race_with_a_deletion_leaves_no_dangling_alias(postgres: str) -> None:
    store = SqlDocumentStore(postgresql_engine(postgres, connections=4, timeout_s=60))
    store.create("v1", SETTINGS)
    store.create("v2", SETTINGS)

    def switch() -> None:
        with suppress(UnknownCollection):
            store.set_alias("now", "v2")

    with ThreadPoolExecutor(2) as pool:
        for _ in range(30):
            store.set_alias("now", "v1")
            for done in (pool.submit(switch), pool.submit(store.drop, "v2")):
                done.result()
            assert store.aliases() in ({"now": "v1"}, {})
            store.create("v2", SETTINGS)
    store.close()
