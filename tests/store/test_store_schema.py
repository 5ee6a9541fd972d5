"""The schema: created on opening, and no other one is touched."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, inspect, text

from rubriclab.errors import StoreError
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import IMMUTABLE, METADATA, SCHEMA, SCHEMA_TABLE, address


def test_a_new_store_has_all_tables_and_triggers_on_those_that_never_change(store: Store, where: str) -> None:
    engine = create_engine(address(where))
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, SCHEMA_TABLE.name}
        if engine.dialect.name == "sqlite":
            guarded = text("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")
        else:
            guarded = text(
                "SELECT event_object_table FROM information_schema.triggers WHERE trigger_schema = current_schema()"
            )
        assert set(connection.execute(guarded).scalars()) == set(IMMUTABLE)
    engine.dispose()


def test_a_store_with_another_schema_is_refused_and_left_alone(store: Store, where: str) -> None:
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {SCHEMA_TABLE.name} SET number = '9001'"))
    with pytest.raises(StoreError, match=rf"has schema '9001'; expected '{SCHEMA}'\. It was written"):
        open_store(where)
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT number FROM {SCHEMA_TABLE.name}")).scalar() == "9001"
    engine.dispose()
