-- For whoever only wants to know how a run is: the states of subplans without the rows they stand in, ...
CREATE INDEX subplan_states ON events (run, subplan, seq, outcome) WHERE kind = 'subplan_state';

-- ... and the few events that are not the daily life of steps. Those of steps that cost nothing are not in it.
CREATE INDEX rare_events ON events (run)
WHERE kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke') OR cost IS NOT NULL;
