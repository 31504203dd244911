-- What delivered clocks and boards' limits are judged by. Of earlier trials it is not known, and they are not judged again.
ALTER TABLE trial_setting ADD COLUMN clock_tolerance_hz REAL;
ALTER TABLE trial_setting ADD COLUMN clock_or_higher INTEGER CHECK (clock_or_higher IN (0, 1));
ALTER TABLE trial_setting ADD COLUMN clock_quantity TEXT;
ALTER TABLE trial_setting ADD COLUMN clock_only_proof INTEGER CHECK (clock_only_proof IN (0, 1));
ALTER TABLE trial_setting ADD COLUMN busiest_share REAL;
ALTER TABLE trial_setting ADD COLUMN kernel_counted_s REAL;
ALTER TABLE trial_setting ADD COLUMN kernel_elsewhere_s REAL;
CREATE TABLE trial_power_limit (
  trial_id INTEGER NOT NULL REFERENCES trial,
  domain   TEXT NOT NULL,
  watts    REAL NOT NULL,
  PRIMARY KEY (trial_id, domain)
) STRICT, WITHOUT ROWID;

-- What is concluded from the trials, by the code that makes the report: written after each block and at the end of each
-- session, all of it anew.
CREATE TABLE conclusion (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  of_all_trials INTEGER NOT NULL   -- rows of trial it was made from: with more of them it is out of date
) STRICT;
CREATE TABLE answer (
  scenario       TEXT PRIMARY KEY,
  best_point_id  INTEGER REFERENCES point,       -- NULL: none holds the constraints, or nothing is known
  reference_point_id INTEGER REFERENCES point,   -- NULL: none was run
  best_edp_point_id  INTEGER REFERENCES point,
  best_ed2p_point_id INTEGER REFERENCES point,
  fastest_point_id   INTEGER REFERENCES point,   -- of those that cannot be told from the best
  gain           REAL,             -- of the best, a share: how much less of the objective than the reference
  gain_low       REAL,             -- 95 %
  gain_high      REAL,
  gain_corrected INTEGER CHECK (gain_corrected IN (0, 1)),  -- 1: for its having been chosen as the least
  gain_from_fresh_blocks INTEGER CHECK (gain_from_fresh_blocks IN (0, 1)),  -- 1: of the blocks alone that confirm it
  chosen_among   INTEGER NOT NULL, -- points that might have been the best
  planned_points INTEGER NOT NULL,
  unknown_points INTEGER NOT NULL, -- of them, those of which nothing is known
  trials         INTEGER NOT NULL, -- run, warm-ups apart
  counted        INTEGER NOT NULL, -- of them, with verdict ok
  drift_of_night REAL              -- of the reference's objective from its first trial to its last, a share
) STRICT, WITHOUT ROWID;
CREATE TABLE point_answer (
  point_id  INTEGER PRIMARY KEY REFERENCES point,
  trials    INTEGER NOT NULL,
  counted   INTEGER NOT NULL,
  delivered_instead TEXT,          -- the clocks that boards ran at where they were not those requested
  feasible  INTEGER NOT NULL CHECK (feasible IN (0, 1)),              -- all constraints hold
  not_told_apart  INTEGER NOT NULL CHECK (not_told_apart IN (0, 1)),  -- from the best, at the 5 % level; 1 for itself
  on_pareto_front INTEGER NOT NULL CHECK (on_pareto_front IN (0, 1))  -- no other has both less energy and less time
) STRICT;
CREATE TABLE point_quantity (
  point_id   INTEGER NOT NULL REFERENCES point,
  quantity   TEXT NOT NULL,        -- 'energy_j', 'time_s', ...: with its unit
  mean       REAL NOT NULL,
  half_width REAL,                 -- 95 %: Student's t and the sensors' own part; NULL: not known
  n          INTEGER NOT NULL,
  PRIMARY KEY (point_id, quantity)
) STRICT, WITHOUT ROWID;
CREATE TABLE point_change (
  point_id INTEGER NOT NULL REFERENCES point,
  change   TEXT NOT NULL,          -- against the reference: 'saving' (of energy), 'slowdown', 'gain' (of the objective)
  value    REAL NOT NULL,          -- a share
  low      REAL,                   -- 95 %
  high     REAL,
  pairs    INTEGER NOT NULL,       -- blocks it is of
  PRIMARY KEY (point_id, change)
) STRICT, WITHOUT ROWID;
CREATE TABLE constraint_answer (
  point_id INTEGER NOT NULL REFERENCES point,
  constraint_id INTEGER NOT NULL REFERENCES constraint_rule,
  value    REAL,                   -- in the rule's unit
  holds    INTEGER CHECK (holds IN (0, 1)),    -- by the estimate; NULL: not known
  certain  INTEGER CHECK (certain IN (0, 1)),  -- the whole 95 % interval is on that side
  PRIMARY KEY (point_id, constraint_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE block_drift (
  scenario TEXT NOT NULL,
  block    INTEGER NOT NULL,
  first_value REAL,                -- the reference's objective
  last_value  REAL,
  change      REAL,                -- a share
  sensor_half_width REAL,          -- 95 %, a share: what the sensors alone add to the change
  flagged     INTEGER CHECK (flagged IN (0, 1)),
  first_temperature_c REAL,
  last_temperature_c  REAL,
  PRIMARY KEY (scenario, block)
) STRICT, WITHOUT ROWID;
