-- What people wrote, what was looked at on purpose, and with which cause an instance's trouble was closed.
CREATE TABLE note (
    id       INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL REFERENCES instance (id),
    at_ms    INTEGER NOT NULL,
    -- 'note', 'look' or 'close'.
    kind     TEXT NOT NULL,
    text     TEXT NOT NULL,
    -- Of 'close': the cause, and what the instance was like then.
    cause    TEXT,
    verdict  TEXT,
    state    TEXT,
    gpu      TEXT,
    image    TEXT,
    machine  INTEGER
) STRICT;
CREATE INDEX note_by_instance ON note (instance, id);
CREATE INDEX note_by_cause ON note (cause, id) WHERE cause IS NOT NULL;
