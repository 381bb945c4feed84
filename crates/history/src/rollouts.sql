-- Deployments and rolling replacements: what was asked, and where each item stands. A row is written before its next step is taken.
CREATE TABLE rollout (
    name      TEXT PRIMARY KEY,
    at_ms     INTEGER NOT NULL,
    -- Address of the fleet's manager, and what the simulator says of itself.
    fleet     TEXT NOT NULL,
    simulated TEXT NOT NULL,
    -- 'going', 'paused' or 'ended'.
    state     TEXT NOT NULL,
    -- Why it is in that state, for a person.
    says      TEXT NOT NULL,
    -- The process that takes its steps.
    process   TEXT NOT NULL,
    -- What was asked, as JSON. No secret is in it.
    terms     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE rollout_item (
    rollout TEXT NOT NULL REFERENCES rollout (name),
    place   INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    -- 'waiting', 'ordering', 'coming', 'retiring', 'done', 'failed' or 'left'.
    state   TEXT NOT NULL,
    -- What is known of it, as JSON.
    body    TEXT NOT NULL,
    PRIMARY KEY (rollout, place)
) STRICT, WITHOUT ROWID;
