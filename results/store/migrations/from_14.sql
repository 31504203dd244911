-- A checksum over what is concluded; what has none is concluded anew. How an experiment grew.
ALTER TABLE conclusion ADD COLUMN digest INTEGER;
CREATE TABLE growth (
  id                INTEGER PRIMARY KEY,
  grown_at          TEXT NOT NULL,
  changes           TEXT NOT NULL,
  first_block       INTEGER NOT NULL,
  first_position    INTEGER NOT NULL,
  new_blocks        INTEGER NOT NULL,
  old_blocks        INTEGER NOT NULL,
  blocks_before     INTEGER NOT NULL,
  references_before TEXT NOT NULL,
  source_before     TEXT NOT NULL
) STRICT;
ALTER TABLE point ADD COLUMN in_plan INTEGER NOT NULL DEFAULT 1 CHECK (in_plan IN (0, 1));
ALTER TABLE point ADD COLUMN growth_id INTEGER REFERENCES growth;
