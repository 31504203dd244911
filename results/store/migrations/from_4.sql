-- Readings packed; migrate.cpp moves those of the table `reading` there and drops it.
CREATE TABLE reading_times (
  id        INTEGER PRIMARY KEY,
  trial_id  INTEGER NOT NULL REFERENCES trial,
  readings  INTEGER NOT NULL,
  first_ns  INTEGER NOT NULL,
  period_ns INTEGER NOT NULL,
  packed    BLOB NOT NULL
) STRICT;
CREATE INDEX reading_times_of_trial ON reading_times (trial_id);
CREATE TABLE reading_values (
  id         INTEGER PRIMARY KEY,
  trial_id   INTEGER NOT NULL REFERENCES trial,
  channel_id INTEGER NOT NULL REFERENCES channel,
  times_id   INTEGER NOT NULL REFERENCES reading_times,
  factor     REAL,
  divisor    REAL,
  packed     BLOB NOT NULL,
  absences   BLOB,
  UNIQUE (trial_id, channel_id)
) STRICT;
CREATE INDEX reading_values_of_times ON reading_values (times_id);
