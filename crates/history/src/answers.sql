-- What a channel answered when it was asked on purpose, as it came: the latest few of each channel and instance.
CREATE TABLE answer (
    id        INTEGER PRIMARY KEY,
    instance  INTEGER NOT NULL REFERENCES instance (id),
    channel   TEXT NOT NULL,
    at_ms     INTEGER NOT NULL,
    text      TEXT NOT NULL,
    -- Bytes that were cut off its end.
    cut_bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX answer_by_instance ON answer (instance, channel, id);
