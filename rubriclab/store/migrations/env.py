"""Alembic's entry: runs the migrations on the connection, and in the transaction, that the store hands over."""

from alembic import context

from rubriclab.store.orm import METADATA
from rubriclab.store.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    # SQLite cannot alter a column in place; batch mode copies the table.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
