-- Sessions that only look whether the answer still stands, and what they found.
ALTER TABLE session ADD COLUMN recheck INTEGER NOT NULL DEFAULT 0 CHECK (recheck IN (0, 1));
CREATE TABLE recheck (
  id             INTEGER PRIMARY KEY,
  session_id     INTEGER NOT NULL REFERENCES session,
  scenario       TEXT NOT NULL,
  verdict        TEXT NOT NULL CHECK (verdict IN ('stands', 'changed', 'not_known')),
  why            TEXT NOT NULL,
  best_point_id  INTEGER NOT NULL REFERENCES point,
  blocks         INTEGER NOT NULL,
  trials         INTEGER NOT NULL,
  counted        INTEGER NOT NULL,
  saving_before  REAL,
  saving_before_low REAL,
  saving_before_high REAL,
  saving         REAL,
  saving_low     REAL,
  saving_high    REAL,
  change         REAL,
  change_low     REAL,
  change_high    REAL
) STRICT;
