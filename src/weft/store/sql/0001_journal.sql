-- Marks the file as ours ("Weft" in ASCII), so that nothing is ever written into somebody else's database.
PRAGMA application_id = 0x57656674;

-- Runs, in the order in which they were made. A row never changes: the text of a large plan is written once.
CREATE TABLE runs (
    number     INTEGER PRIMARY KEY,
    run        TEXT NOT NULL UNIQUE,
    plan       TEXT NOT NULL,
    file       TEXT NOT NULL,
    directory  TEXT NOT NULL,
    text       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    created_at REAL NOT NULL
) STRICT;

-- What changes about a run.
CREATE TABLE run_states (
    run   TEXT PRIMARY KEY REFERENCES runs (run),
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What happened. Rows are added at the end, never changed, never removed; so the numbers have no gap.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    at      REAL NOT NULL,
    run     TEXT NOT NULL REFERENCES runs (run),
    kind    TEXT NOT NULL,
    subplan TEXT NOT NULL,
    step    TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    cost    INTEGER,       -- micro-dollars
    tokens  INTEGER,
    data    TEXT NOT NULL, -- JSON, an object
    fact    TEXT           -- JSON; only in the event that carries a fact
) STRICT;

-- Within one run the index is in the order of seq: SQLite adds the primary key to it.
CREATE INDEX events_of_a_run ON events (run);

-- Who may write: one row.
CREATE TABLE lease (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    pid     INTEGER NOT NULL,
    started INTEGER NOT NULL, -- when that process started, as the kernel counts it
    nonce   TEXT NOT NULL,
    epoch   INTEGER NOT NULL,
    since   REAL NOT NULL,
    command TEXT NOT NULL
) STRICT;

-- What people ask for.
CREATE TABLE requests (
    id      INTEGER PRIMARY KEY,
    run     TEXT NOT NULL REFERENCES runs (run),
    kind    TEXT NOT NULL,
    subplan TEXT NOT NULL,
    step    TEXT NOT NULL,
    data    TEXT NOT NULL, -- JSON, an object
    at      REAL NOT NULL,
    taken   INTEGER        -- the last event when it was taken up; NULL until then
) STRICT;

CREATE INDEX open_requests ON requests (run) WHERE taken IS NULL;
