"""Alembic environment: run the migrations on the connection from the config."""

from alembic import context

from semblance.service.documents.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
