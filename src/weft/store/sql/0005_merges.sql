-- Most subplans of a large run have been merged, and nothing else is to be told of that. So a picture of the run reads
-- from an index how the last merge of each ended, and what else happened without the merges that went well.
CREATE INDEX last_merges ON events (run, subplan, seq, step, outcome) WHERE kind = 'merge';

CREATE INDEX unusual_events ON events (run)
WHERE (kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke')
        OR cost IS NOT NULL OR tokens IS NOT NULL)
    AND NOT (kind = 'merge' AND outcome = 'merged');

-- The steps of the whole plan are few, and are looked for by themselves.
CREATE INDEX plan_steps ON events (run, seq)
WHERE subplan = '' AND kind IN ('step_started', 'step_finished', 'subplan_state');
