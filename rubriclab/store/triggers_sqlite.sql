CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} never change'); END

CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} never change'); END

-- INSERT OR REPLACE removes the old row without firing the trigger before DELETE.
CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {is_same_row})
BEGIN SELECT RAISE(ABORT, '{table} never change'); END
