-- Agents that report tokens and no cost belong into a picture of a run as well.
DROP INDEX rare_events;

CREATE INDEX rare_events ON events (run)
WHERE kind NOT IN ('step_started', 'step_finished', 'step_skipped', 'subplan_state', 'woke')
    OR cost IS NOT NULL OR tokens IS NOT NULL;
