-- Blocks that several machines ran.
CREATE TABLE block_run (
  id         INTEGER PRIMARY KEY,
  origin     TEXT NOT NULL UNIQUE,
  block      INTEGER NOT NULL,
  node       TEXT NOT NULL,
  task       TEXT,
  complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
  left_out   TEXT
) STRICT;
CREATE INDEX block_run_of_block ON block_run (block);
CREATE TABLE node_fact (
  node  TEXT NOT NULL,
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE handed_in (
  name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE submission (
  id           INTEGER PRIMARY KEY,
  job          TEXT NOT NULL,
  blocks       TEXT NOT NULL,
  submitted_at TEXT NOT NULL
) STRICT;
CREATE TABLE node_left_out (
  node TEXT PRIMARY KEY,
  why  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE session ADD COLUMN block_run_id INTEGER REFERENCES block_run;
CREATE INDEX session_of_block_run ON session (block_run_id);
CREATE INDEX trial_of_session ON trial (session_id);
