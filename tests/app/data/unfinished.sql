-- The journal of a run whose coordinator was killed, as the version before budgets over runs wrote it.
BEGIN TRANSACTION;
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
INSERT INTO "events" VALUES(1,1.79496044091593980789e+09,'20261118-000720-ddd9','run_started','','',0,'',NULL,NULL,'{"plan":"p","run":"20261118-000720-ddd9","subplans":3,"slices":3}','{"fact":"run_started","at":1794960440.9159398,"run":"20261118-000720-ddd9","env":{},"target":"main","base":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"}');
INSERT INTO "events" VALUES(2,1.79496044091593980789e+09,'20261118-000720-ddd9','subplan_state','w','',0,'running',NULL,NULL,'{"from":"pending"}',NULL);
INSERT INTO "events" VALUES(3,1.79496044091593980789e+09,'20261118-000720-ddd9','step_started','w','@workspace',1,'',NULL,NULL,'{"firing":1,"execution":1,"transition":"begin","kind":"workspace"}',NULL);
INSERT INTO "events" VALUES(4,1.79496044091593980789e+09,'20261118-000720-ddd9','subplan_state','x','',0,'running',NULL,NULL,'{"from":"pending"}',NULL);
INSERT INTO "events" VALUES(5,1.79496044091593980789e+09,'20261118-000720-ddd9','step_started','x','@workspace',1,'',NULL,NULL,'{"firing":2,"execution":1,"transition":"begin","kind":"workspace"}',NULL);
INSERT INTO "events" VALUES(6,1.7949604410514249801e+09,'20261118-000720-ddd9','step_finished','w','@workspace',1,'done',NULL,NULL,'{"firing":1,"execution":1,"moves":[{"ref":"refs/heads/weft/p/_plan","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"},{"ref":"refs/heads/weft/p/w","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"}],"seconds":0.0}','{"fact":"ended","at":1794960441.051425,"firing":1,"execution":1,"how":"done","moves":[{"ref":"refs/heads/weft/p/_plan","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"},{"ref":"refs/heads/weft/p/w","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"}]}');
INSERT INTO "events" VALUES(7,1.7949604410514249801e+09,'20261118-000720-ddd9','step_started','w','one',1,'',NULL,NULL,'{"firing":3,"execution":1,"transition":"run one#1","kind":"run","command":"echo w >> /srv/outside/calls; echo 1 > w1"}',NULL);
INSERT INTO "events" VALUES(8,1.79496044109255218504e+09,'20261118-000720-ddd9','step_finished','x','@workspace',1,'done',NULL,NULL,'{"firing":2,"execution":1,"moves":[{"ref":"refs/heads/weft/p/_plan","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"},{"ref":"refs/heads/weft/p/x","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"}],"seconds":0.0}','{"fact":"ended","at":1794960441.0925522,"firing":2,"execution":1,"how":"done","moves":[{"ref":"refs/heads/weft/p/_plan","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"},{"ref":"refs/heads/weft/p/x","before":"","after":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52"}]}');
INSERT INTO "events" VALUES(9,1.79496044109255218504e+09,'20261118-000720-ddd9','step_started','x','one',1,'',NULL,NULL,'{"firing":4,"execution":1,"transition":"run one#1","kind":"run","command":"echo one >> /srv/outside/calls; echo 1 > x1"}',NULL);
INSERT INTO "events" VALUES(10,1.79496044108735013002e+09,'20261118-000720-ddd9','step_finished','w','one',1,'done',NULL,NULL,'{"firing":3,"execution":1,"exit_code":0,"moves":[{"ref":"refs/heads/weft/p/w","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"2dd4fe64250caf5b6671ea096f48b390263254ab"}],"seconds":0.004}','{"fact":"ended","at":1794960441.0873501,"firing":3,"execution":1,"how":"done","exit_code":0,"moves":[{"ref":"refs/heads/weft/p/w","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"2dd4fe64250caf5b6671ea096f48b390263254ab"}],"seconds":0.004061222076416016}');
INSERT INTO "events" VALUES(11,1.79496044108735013002e+09,'20261118-000720-ddd9','step_started','w','@merge',1,'',NULL,NULL,'{"firing":5,"execution":1,"transition":"merge","kind":"merge"}',NULL);
INSERT INTO "events" VALUES(12,1.79496044112945270536e+09,'20261118-000720-ddd9','step_finished','x','one',1,'done',NULL,NULL,'{"firing":4,"execution":1,"exit_code":0,"moves":[{"ref":"refs/heads/weft/p/x","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"c1cf598e6fae1222a97412dcdeff77663676277c"}],"seconds":0.001}','{"fact":"ended","at":1794960441.1294527,"firing":4,"execution":1,"how":"done","exit_code":0,"moves":[{"ref":"refs/heads/weft/p/x","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"c1cf598e6fae1222a97412dcdeff77663676277c"}],"seconds":0.0010843276977539062}');
INSERT INTO "events" VALUES(13,1.79496044112945270536e+09,'20261118-000720-ddd9','step_started','x','two',1,'',NULL,NULL,'{"firing":6,"execution":1,"transition":"run two#1","kind":"agent","agent":"a"}',NULL);
INSERT INTO "events" VALUES(14,1.79496044119321036336e+09,'20261118-000720-ddd9','step_finished','w','@merge',1,'done',NULL,NULL,'{"firing":5,"execution":1,"moves":[{"ref":"refs/heads/weft/p/_plan","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}],"seconds":0.0}','{"fact":"ended","at":1794960441.1932104,"firing":5,"execution":1,"how":"done","moves":[{"ref":"refs/heads/weft/p/_plan","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}]}');
INSERT INTO "events" VALUES(15,1.79496044119321036336e+09,'20261118-000720-ddd9','merge','w','@merge',1,'merged',NULL,NULL,'{"moves":[{"ref":"refs/heads/weft/p/_plan","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}]}',NULL);
INSERT INTO "events" VALUES(16,1.79496044119321036336e+09,'20261118-000720-ddd9','subplan_state','w','',0,'completed',NULL,NULL,'{"from":"running"}',NULL);
INSERT INTO "events" VALUES(17,1.79496044119321036336e+09,'20261118-000720-ddd9','step_started','w','@land',1,'',NULL,NULL,'{"firing":7,"execution":1,"transition":"land","kind":"land"}',NULL);
INSERT INTO "events" VALUES(18,1.79496044124137043955e+09,'20261118-000720-ddd9','step_finished','w','@land',1,'done',NULL,NULL,'{"firing":7,"execution":1,"moves":[{"ref":"refs/heads/main","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}],"seconds":0.0}','{"fact":"ended","at":1794960441.2413704,"firing":7,"execution":1,"how":"done","moves":[{"ref":"refs/heads/main","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}]}');
INSERT INTO "events" VALUES(19,1.79496044124137043955e+09,'20261118-000720-ddd9','merge','w','@land',1,'merged',NULL,NULL,'{"moves":[{"ref":"refs/heads/main","before":"eadf0ba095e5c9536ec0c060f5eee6d443ed3c52","after":"ac777fd7854b94a37e5a2bdfe4576be2011da63d"}]}',NULL);
CREATE TABLE lease (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    pid     INTEGER NOT NULL,
    started INTEGER NOT NULL, -- when that process started, as the kernel counts it
    nonce   TEXT NOT NULL,
    epoch   INTEGER NOT NULL,
    since   REAL NOT NULL,
    command TEXT NOT NULL
) STRICT;
INSERT INTO "lease" VALUES(1,1462,494022,'6bb6e40dffb6cf74fe904d1ea3d612b6',1,1.79496044061499118804e+09,'weft run');
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
CREATE TABLE run_states (
    run   TEXT PRIMARY KEY REFERENCES runs (run),
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "run_states" VALUES('20261118-000720-ddd9','running');
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
INSERT INTO "runs" VALUES(1,'20261118-000720-ddd9','p','weft.yaml','/srv/project','{"weft": 1, "plan": "p", "max_parallel": 4, "failure_mode": "fail_fast", "policy": "parallel", "agent": "a", "retries": 2, "infra_retries": 2, "timeout": "30m", "grace": "10s", "budget": 5, "on_budget": "stop", "merge": {"when": "milestone", "mode": "auto", "order": "sequential", "take_branch": [], "resolve": "hold"}, "strict_files": false, "overlap": "warn", "isolation": "worktree", "worktrees": ".weft/worktrees/{{ plan.id }}/{{ slice.path }}", "branch_prefix": "weft/", "copy": [], "link": [], "sparse": [], "isolated_home": false, "sandbox": {"use": "none", "network": true, "hide": [], "read": [], "write": []}, "agents": {"a": {"use": "command", "command": ["./agent.sh"]}}, "subplans": [{"id": "w", "steps": [{"id": "one", "run": "echo w >> /srv/outside/calls; echo 1 > w1"}]}, {"id": "x", "steps": [{"id": "one", "run": "echo one >> /srv/outside/calls; echo 1 > x1"}, {"id": "two", "prompt": "do", "agent": "a"}, {"id": "three", "run": "echo three >> /srv/outside/calls"}]}, {"id": "z", "depends_on": ["/x", "/w"], "steps": [{"id": "one", "run": "echo z >> /srv/outside/calls; echo 1 > z1"}]}]}','5c7ca38a20654610ddf4833c651d47a8',1.79496044090618705755e+09);
CREATE INDEX events_of_a_run ON events (run);
CREATE INDEX open_requests ON requests (run) WHERE taken IS NULL;
CREATE INDEX subplan_states ON events (run, subplan, seq, outcome) WHERE kind = 'subplan_state';
CREATE INDEX rare_events ON events (run)
WHERE kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke') OR cost IS NOT NULL;
COMMIT;
PRAGMA user_version = 2;
PRAGMA application_id = 1466263156;
