-- Adaptive search.
CREATE TABLE search (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  method     TEXT NOT NULL CHECK (method IN ('adaptive')),
  regret     REAL NOT NULL,
  confidence REAL NOT NULL,
  at_most    INTEGER
) STRICT;
CREATE TABLE prior_shape (
  point_id  INTEGER NOT NULL REFERENCES point,
  source    TEXT NOT NULL,
  log_time  REAL NOT NULL,
  log_power REAL,
  PRIMARY KEY (source, point_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE search_answer (
  scenario      TEXT PRIMARY KEY,
  best_point_id INTEGER REFERENCES point,
  bound         REAL,
  settings      INTEGER NOT NULL,
  settings_run  INTEGER NOT NULL,
  trials        INTEGER NOT NULL,
  of_all_trials INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE search_model (
  point_id  INTEGER PRIMARY KEY REFERENCES point,
  objective REAL NOT NULL,
  low_95    REAL NOT NULL,
  high_95   REAL NOT NULL,
  probability_best REAL NOT NULL
) STRICT;
