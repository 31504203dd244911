-- Several that run at once, metrics with their time, objectives of single workloads.
ALTER TABLE trial ADD COLUMN instances INTEGER NOT NULL DEFAULT 1;
ALTER TABLE trial ADD COLUMN all_running_s REAL;
ALTER TABLE trial ADD COLUMN all_running_j REAL;
ALTER TABLE metric ADD COLUMN run INTEGER NOT NULL DEFAULT 1;
ALTER TABLE metric ADD COLUMN time_ns INTEGER;
ALTER TABLE metric ADD COLUMN counted_s REAL;
ALTER TABLE metric ADD COLUMN energy_j REAL;
ALTER TABLE metric ADD COLUMN energy_half_width_j REAL;
ALTER TABLE metric ADD COLUMN count_of REAL;
ALTER TABLE workload ADD COLUMN objective TEXT CHECK (objective IN ('energy', 'time', 'edp', 'ed2p', 'cost'));
ALTER TABLE workload ADD COLUMN per_metric TEXT;
ALTER TABLE workload ADD COLUMN target TEXT;
ALTER TABLE constraint_rule ADD COLUMN workload_id INTEGER REFERENCES workload;
CREATE TABLE trial_instance (
  trial_id   INTEGER NOT NULL REFERENCES trial,
  run        INTEGER NOT NULL,
  instance   INTEGER NOT NULL,
  workload   TEXT NOT NULL,
  name       TEXT NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('completed', 'exited', 'signalled', 'timed_out', 'ended_with_others')),
  exit_code  INTEGER,
  signal     TEXT,
  started_ns INTEGER NOT NULL,
  ended_ns   INTEGER NOT NULL,
  region_s   REAL,
  units      REAL,
  user_s     REAL NOT NULL,
  system_s   REAL NOT NULL,
  output_tail BLOB NOT NULL,
  error_tail  BLOB NOT NULL,
  PRIMARY KEY (trial_id, run)
) STRICT, WITHOUT ROWID;
