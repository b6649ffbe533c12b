"""Stores of earlier releases are migrated, and those of later releases refused."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex

from semblance.service.documents import migrations
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.migrations import NEWEST, migrate
from semblance.service.documents.schema import metadata, vectors_of_passages
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import StoreTooNew
from semblance.service.ports.documents import Version

# the tables of the first release, which had no Alembic
FIRST_TABLES = """
CREATE TABLE collections (name VARCHAR NOT NULL, epoch VARCHAR NOT NULL, version INTEGER NOT NULL,
  model VARCHAR NOT NULL, space VARCHAR NOT NULL, dim INTEGER NOT NULL, measure VARCHAR NOT NULL,
  "index" VARCHAR NOT NULL, tokens VARCHAR NOT NULL, PRIMARY KEY (name));
CREATE TABLE documents (collection VARCHAR NOT NULL, id VARCHAR NOT NULL, version INTEGER NOT NULL,
  deleted BOOLEAN NOT NULL, text TEXT NOT NULL, truncated BOOLEAN NOT NULL, metadata JSON NOT NULL,
  PRIMARY KEY (collection, id), FOREIGN KEY(collection) REFERENCES collections (name) ON DELETE CASCADE);
CREATE INDEX documents_by_version ON documents (collection, version, id);
CREATE TABLE vectors (collection VARCHAR NOT NULL, id VARCHAR NOT NULL, space VARCHAR NOT NULL, vector BLOB NOT NULL,
  PRIMARY KEY (collection, id, space),
  FOREIGN KEY(collection, id) REFERENCES documents (collection, id) ON DELETE CASCADE);
CREATE TABLE token_codes (collection VARCHAR NOT NULL, id VARCHAR NOT NULL, space VARCHAR NOT NULL,
  size INTEGER NOT NULL, error FLOAT NOT NULL, codes BLOB NOT NULL, PRIMARY KEY (collection, id, space),
  FOREIGN KEY(collection, id) REFERENCES documents (collection, id) ON DELETE CASCADE);
INSERT INTO collections VALUES ('c', 'e1', 1, 'minilm', 'space', 4, 'cosine', 'auto', 'none');
INSERT INTO documents VALUES ('c', 'd', 1, 0, 'A text.', 0, '{}');
INSERT INTO vectors VALUES ('c', 'd', 'space', x'00000000');
"""


def test_an_empty_database_gets_the_schema_of_the_code(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, migrations.__name__)
    migrate(engine)
    migrate(engine)
    created = [record.getMessage() for record in caplog.records if record.name == migrations.__name__]
    assert created == [f"created the tables in {engine.url.database}"]
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_all_migrations_lead_to_the_schema_of_the_code(engine: Engine) -> None:
    with engine.begin() as connection:
        migrations._upgrade(connection)
    migrate(engine)
    with engine.connect() as connection:
        migrated = MigrationContext.configure(connection)
        assert compare_metadata(migrated, metadata) == []
        assert migrated.get_current_revision() == NEWEST


def test_the_index_of_passages_is_partial_on_every_database() -> None:
    for dialect in (postgresql.dialect(), sqlite.dialect()):  # type: ignore[no-untyped-call]
        statement = str(CreateIndex(vectors_of_passages).compile(dialect=dialect))
        assert statement.endswith("(collection, space, passages) WHERE passages > 1")


def test_the_newest_revision_is_the_expected_one() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [NEWEST]


def test_a_store_of_the_first_release_keeps_its_documents(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, migrations.__name__)
    engine = sqlite_engine(tmp_path / "documents.sqlite")
    with engine.begin() as connection:
        for statement in FIRST_TABLES.split(";\n"):
            if statement.strip():
                connection.execute(text(statement))
    store = SqlDocumentStore(engine)
    collection = store.collection("c")
    assert (collection.version, collection.reembedding) == (Version("e1", 1), None)
    assert store.get("c", ["d"])["d"].text == "A text."
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    store.close()
    begun = f"migrating {tmp_path}/documents.sqlite from revision 0001 to {NEWEST}"
    assert begun in [record.getMessage() for record in caplog.records if record.name == migrations.__name__]


def test_a_store_of_a_later_release_is_refused(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreTooNew, match="9999"):
        migrate(engine)


def test_concurrent_replicas_create_the_tables_once(postgres: str) -> None:
    engine = postgresql_engine(postgres, connections=4, timeout_s=300)
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(migrate, engine) for _ in range(4)]:
            done.result()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()
