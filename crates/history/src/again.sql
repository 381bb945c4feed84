-- What a process knew at the latest answer and what nothing else kept tells: the next one goes on from there.
ALTER TABLE fleet ADD COLUMN answered_ms INTEGER;
-- Age of the manager's copy of vast.ai's list in that answer, and its clock minus the operator's when Dwell first looked.
ALTER TABLE fleet ADD COLUMN vast_age_s REAL;
ALTER TABLE fleet ADD COLUMN first_skew_s REAL;

CREATE TABLE seen (
    instance          INTEGER PRIMARY KEY REFERENCES instance (id),
    -- In the latest answer; else the answers in a row without it, and the last one with it.
    listed            INTEGER NOT NULL,
    missing_answers   INTEGER NOT NULL,
    missing_since_ms  INTEGER,
    unflagged         INTEGER NOT NULL,
    -- vast.ai's record: whether the row has it, when it was last told, and how long its status message has been the same.
    matched           INTEGER NOT NULL,
    vast_told_ms      INTEGER,
    status_first_ms   INTEGER,
    status_last_ms    INTEGER,
    status_before_ms  INTEGER,
    status_changed_ms INTEGER,
    -- The row.
    runner_id         INTEGER,
    min_rate          REAL,
    bench_rate        REAL,
    registered_ms     INTEGER,
    param_done_ms     INTEGER,
    bench_done_ms     INTEGER,
    killed_ms         INTEGER,
    -- The record.
    ssh_command       TEXT,
    gpu_util          REAL,
    gpu_temp          REAL,
    gpu_ram_mib       REAL,
    cuda_version      REAL,
    inet_up_mbps      REAL,
    cpu_util          REAL,
    mem_usage_gb      REAL,
    mem_limit_gb      REAL,
    disk_space_gb     REAL,
    gpu_mem_bw_gb_s   REAL,
    driver_version    TEXT,
    reliability       REAL,
    start_ms          INTEGER,
    gpu_frac          REAL,
    public_ip         TEXT,
    kept_vast_id      INTEGER,
    -- Its rental: the newest list that has it, the first one since that lacks it, and when a person accounted for it.
    rental_listed_ms  INTEGER,
    rental_ended_ms   INTEGER,
    rental_known_ms   INTEGER,
    -- The manager's buffer for it: lines in it, lines when it was last read, and when that was.
    buffered          INTEGER,
    read_lines        INTEGER,
    read_ms           INTEGER
) STRICT;
