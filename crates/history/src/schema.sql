-- Times are milliseconds since the epoch, on the manager's clock. Absent is NULL, never 0.
CREATE TABLE fleet (
    id         INTEGER PRIMARY KEY,
    address    TEXT NOT NULL,
    -- What the simulator says of itself; '' for a real manager. A simulated run is a fleet of its own.
    simulated  TEXT NOT NULL,
    UNIQUE (address, simulated)
) STRICT;

CREATE TABLE instance (
    id             INTEGER PRIMARY KEY,
    fleet          INTEGER NOT NULL REFERENCES fleet (id),
    uuid           TEXT,
    vast_id        INTEGER,
    label          TEXT,
    state          TEXT NOT NULL,
    entered_ms     INTEGER NOT NULL,
    basis          TEXT NOT NULL,
    earlier_by_s   REAL NOT NULL,
    first_seen_ms  INTEGER NOT NULL,
    last_listed_ms INTEGER NOT NULL,
    -- The vast.ai record that its kind is read from, as last told.
    gpu_name       TEXT,
    num_gpus       INTEGER,
    dollars_per_h  REAL,
    machine_id     INTEGER,
    host_id        INTEGER,
    geolocation    TEXT,
    inet_down_mbps REAL,
    status_msg     TEXT,
    -- Another row that turned out to be the same instance.
    merged_into    INTEGER REFERENCES instance (id)
) STRICT;
CREATE UNIQUE INDEX instance_by_uuid ON instance (fleet, uuid) WHERE uuid IS NOT NULL;
CREATE INDEX instance_by_vast_id ON instance (fleet, vast_id);

CREATE TABLE transition (
    id           INTEGER PRIMARY KEY,
    instance     INTEGER NOT NULL REFERENCES instance (id),
    from_state   TEXT,
    to_state     TEXT NOT NULL,
    at_ms        INTEGER NOT NULL,
    basis        TEXT NOT NULL,
    earlier_by_s REAL NOT NULL,
    kind         TEXT NOT NULL,
    seen_ms      INTEGER NOT NULL,
    -- Two watchers of one fleet see the same change: it is kept once.
    UNIQUE (instance, to_state, at_ms)
) STRICT;

-- Readings of vast.ai's record, at most one a minute.
CREATE TABLE gauge (
    instance  INTEGER NOT NULL REFERENCES instance (id),
    at_ms     INTEGER NOT NULL,
    gpu_util  REAL,
    gpu_temp  REAL,
    cpu_util  REAL,
    mem_gb    REAL,
    log_lines INTEGER,
    PRIMARY KEY (instance, at_ms)
) STRICT, WITHOUT ROWID;

-- Every log line ever fetched. `instance` is NULL for the manager's own log.
CREATE TABLE log_line (
    id       INTEGER PRIMARY KEY,
    fleet    INTEGER NOT NULL REFERENCES fleet (id),
    instance INTEGER REFERENCES instance (id),
    source   TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    text     TEXT NOT NULL,
    -- 1 where lines may be missing just before this one.
    after_gap INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX log_line_by_owner ON log_line (fleet, instance, id);
CREATE INDEX log_line_by_source ON log_line (instance, source, at_ms);

CREATE TABLE manager_run (
    fleet        INTEGER NOT NULL REFERENCES fleet (id),
    started_ms   INTEGER NOT NULL,
    from_its_log INTEGER NOT NULL,
    PRIMARY KEY (fleet, started_ms)
) STRICT, WITHOUT ROWID;

-- Times without answers from the manager.
CREATE TABLE gap (
    fleet   INTEGER NOT NULL REFERENCES fleet (id),
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    PRIMARY KEY (fleet, from_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE flag (
    id         INTEGER PRIMARY KEY,
    instance   INTEGER NOT NULL REFERENCES instance (id),
    kind       TEXT NOT NULL,
    since_ms   INTEGER NOT NULL,
    raised_ms  INTEGER NOT NULL,
    cleared_ms INTEGER,
    reason     TEXT NOT NULL,
    certainty  TEXT NOT NULL
) STRICT;
CREATE INDEX flag_by_instance ON flag (instance, id);
