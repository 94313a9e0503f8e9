-- Each query has a name and a purpose. Values are given in the order of the question marks. In a journal of an older
-- version that is not migrated yet, `checksum` is read as NULL.

-- name: version
-- The version of the tables, their application and their number: in one query, because another process may be creating them.
SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
FROM pragma_user_version, pragma_application_id;

-- name: fence
-- The last sequence number; no row if this process has lost the lease. Part of every transaction that writes.
SELECT coalesce((SELECT max(seq) FROM events), 0) FROM lease WHERE nonce = ? AND epoch = ?;

-- name: take_lease
-- Replaces the last holder and increases the epoch.
INSERT INTO lease (id, pid, started, nonce, epoch, since, command) VALUES (1, ?, ?, ?, 1, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    pid = excluded.pid, started = excluded.started, nonce = excluded.nonce, epoch = epoch + 1,
    since = excluded.since, command = excluded.command
RETURNING epoch;

-- name: holder
SELECT pid, started, nonce, epoch, since, command FROM lease;

-- name: add_run
INSERT INTO runs (run, plan, file, directory, text, digest, created_at, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_run_state
INSERT INTO run_states (state, run) VALUES (?, ?);

-- name: set_run_state
UPDATE run_states SET state = ? WHERE run = ?;

-- name: runs
-- Newest first; the plan is given twice, and NULL means any.
SELECT run, plan, file, directory, text, digest, created_at, state, checksum
FROM runs JOIN run_states USING (run)
WHERE ? IS NULL OR plan = ?
ORDER BY number DESC;

-- name: add_event
-- The caller gives the next sequence number, because the checksum depends on it.
INSERT INTO events (seq, at, run, kind, subplan, step, attempt, outcome, cost, tokens, data, fact, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events
-- One page of a run's events after a sequence number.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, fact, checksum
FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: facts
-- One page of a run's facts after a sequence number.
SELECT seq, fact, checksum FROM events WHERE run = ? AND seq > ? AND fact IS NOT NULL ORDER BY seq LIMIT ?;

-- name: states
-- The last state of each subplan, as one JSON object: for ten thousand rows Python would create as many objects.
-- With max(), SQLite takes the other columns from the row with the maximum.
SELECT json_group_object(subplan, outcome)
FROM (SELECT subplan, outcome, max(seq) FROM events WHERE run = ? AND kind = 'subplan_state' GROUP BY subplan);

-- name: landed
-- The subplans with a successful landing as their last merge, as one JSON array.
SELECT json_group_array(subplan)
FROM (
    SELECT subplan, step, outcome, max(seq) FROM events WHERE run = ? AND kind = 'merge' GROUP BY subplan
)
WHERE step = '@land' AND outcome = 'merged';

-- name: first_states
-- The first events of some subplans, which are given as JSON.
SELECT min(seq) FROM events
WHERE run = ? AND kind = 'subplan_state' AND subplan IN (SELECT value FROM json_each(?));

-- name: notable_events
-- The other events that a view of a run needs, without routine events of steps. The condition must be that of an index.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ?
    AND (kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke')
        OR cost IS NOT NULL OR tokens IS NOT NULL)
ORDER BY seq;

-- name: unusual
-- The same without successful merges. The condition must be that of another index.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ?
    AND (kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke')
        OR cost IS NOT NULL OR tokens IS NOT NULL)
    AND NOT (kind = 'merge' AND outcome = 'merged')
ORDER BY seq;

-- name: merges_of
-- The merges of some subplans, which are given as JSON.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ? AND kind = 'merge' AND subplan IN (SELECT value FROM json_each(?))
ORDER BY seq;

-- name: merges_after
-- The merges after a sequence number.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ? AND seq > ? AND kind = 'merge'
ORDER BY seq;

-- name: step_events
-- State changes and step events of some subplans, which are given as JSON, after a sequence number.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ? AND seq > ? AND kind IN ('step_started', 'step_finished', 'subplan_state')
    AND subplan IN (SELECT value FROM json_each(?))
ORDER BY seq;

-- name: plan_step_events
-- The same for the whole plan, which has its own index.
SELECT seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, checksum
FROM events
WHERE run = ? AND seq > ? AND subplan = '' AND kind IN ('step_started', 'step_finished', 'subplan_state')
ORDER BY seq;

-- name: record
-- The run with this id. NULL, given twice, means the run with the latest event, which need not be the newest run.
SELECT run, plan, file, directory, text, digest, created_at, state, checksum
FROM runs JOIN run_states USING (run)
WHERE ? IS NULL OR run = ?
ORDER BY
    coalesce((SELECT at FROM events WHERE events.run = runs.run ORDER BY seq DESC LIMIT 1), created_at) DESC,
    number DESC
LIMIT 1;

-- name: ask
INSERT INTO requests (run, kind, subplan, step, data, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id;

-- name: requests
-- The requests of a run that no coordinator has taken.
SELECT id, kind, subplan, step, data, at FROM requests WHERE run = ? AND taken IS NULL ORDER BY id;

-- name: take_request
UPDATE requests SET taken = ? WHERE id = ? AND run = ?;

-- name: last_event_at
-- The time of the last event of a run; from the index, so that the cost does not depend on the number of events.
SELECT at FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1;
