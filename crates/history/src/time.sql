-- Times in which the manager was answering somebody who keeps this history. Outside of them nothing is known, inside of them
-- `gap` says where nothing is.
CREATE TABLE watched (
    fleet   INTEGER NOT NULL REFERENCES fleet (id),
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    PRIMARY KEY (fleet, from_ms)
) STRICT, WITHOUT ROWID;
INSERT INTO watched
SELECT fleet, min(first_seen_ms), max(last_listed_ms) FROM instance GROUP BY fleet HAVING max(last_listed_ms) > min(first_seen_ms);

-- How far the thinning of gauges has come.
CREATE TABLE upkeep (
    task     TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Words of kept log lines; the lines themselves stand in log_line alone.
CREATE VIRTUAL TABLE log_search USING fts5 (text, content = '', contentless_delete = 1, detail = 'none');
INSERT INTO log_search (rowid, text) SELECT id, text FROM log_line;

-- All that charts read of a life, in its order.
CREATE INDEX transition_by_life ON transition (instance, at_ms, id, kind, to_state, basis, earlier_by_s);
CREATE INDEX instance_by_listed ON instance (fleet, last_listed_ms);
CREATE INDEX flag_leaking ON flag (instance, since_ms, cleared_ms) WHERE kind = 'leaking';
