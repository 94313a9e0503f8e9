-- A checksum of each row that stays for ever; see `weft.store.checksums`, whose functions these are.
ALTER TABLE runs ADD COLUMN checksum INTEGER;
UPDATE runs SET checksum = row_checksum(run, plan, file, directory, text, digest, created_at);

ALTER TABLE events ADD COLUMN checksum INTEGER;
UPDATE events
SET checksum = event_checksum(seq, at, run, kind, subplan, step, attempt, outcome, cost, tokens, data, fact);
