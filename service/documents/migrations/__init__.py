"""The tables as earlier releases left them, brought up to this one, step by step, by Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, func, inspect, select, text

from semblance.service.errors import StoreTooNew

NEWEST = "0002"  # of the steps in versions/
WITHOUT_STEPS = "0001"  # what stores hold that were made before there were steps

_ONE_AT_A_TIME = 7_136_523_170_112  # any number that no other program takes for its lock


def migrate(engine: Engine) -> None:
    """Bring the tables of a database up to this release, and make them where there are none.

    Several processes may do so at once. Raises StoreTooNew.
    """
    with engine.connect() as connection:
        if _revision(connection) == NEWEST:
            return
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
        if _revision(connection) != NEWEST:  # not done by another process meanwhile
            _upgrade(connection)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - a start seldom needs it
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent))
    if inspect(connection).has_table("collections") and _revision(connection) is None:
        command.stamp(config, WITHOUT_STEPS)
    try:
        command.upgrade(config, "head")
    except CommandError as error:  # its tables are at a step that this release does not know
        raise StoreTooNew(
            f"the store was changed by a later release (its tables are at {_revision(connection)}, this one knows "
            f"{NEWEST}): serve it with that release"
        ) from error
