-- What Dwell was told to do and what came of it, step by step. Rows are only ever added.
CREATE TABLE act (
    id            INTEGER PRIMARY KEY,
    -- Steps of one plan share its name; a plan can have several targets.
    plan          TEXT NOT NULL,
    at_ms         INTEGER NOT NULL,
    who           TEXT NOT NULL,
    -- The process that does it: its number and when it began, to tell one that goes on from one that was killed.
    process       TEXT NOT NULL,
    why           TEXT NOT NULL,
    -- Address of the fleet's manager, and what the simulator says of itself; as text, for a journal outlives what it is about.
    fleet         TEXT NOT NULL,
    simulated     TEXT NOT NULL,
    deed          TEXT NOT NULL,
    -- The label, the reason of a ban.
    deed_text     TEXT,
    target        TEXT NOT NULL,
    uuid          TEXT,
    vast_id       INTEGER,
    machine       INTEGER,
    dollars_per_h REAL,
    -- 'planned', 'sent', 'answered', 'unanswered', 'refused', 'taken', 'verified' or 'incident'.
    phase         TEXT NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE INDEX act_by_plan ON act (plan, target, id);
