-- The result file: one SQLite file per experiment. Its version is one more than the last of migrations/.
--
-- Tables are in the singular and are the program's own; the views (views.sql), in the plural, are the interface
-- for analysts and stay stable. Units are in the names: _j joules, _s seconds, _w watts, _hz hertz,
-- _ns nanoseconds of CLOCK_MONOTONIC. NULL is "not known", never 0. Migrations only add.

CREATE TABLE experiment (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  name           TEXT NOT NULL,
  description    TEXT NOT NULL,
  objective      TEXT NOT NULL CHECK (objective IN ('energy', 'time', 'edp', 'ed2p', 'cost')),
  per_metric     TEXT,              -- the metric that counts units of work; NULL: per run of the command
  currency       TEXT,              -- of objective 'cost'
  price_per_j    REAL,
  price_per_s    REAL,
  drift_limit    REAL NOT NULL,     -- a share: the reference may change so much within a block
  shuffled       INTEGER NOT NULL CHECK (shuffled IN (0, 1)),
  until          REAL,              -- a share: the half-width at which a point is run no more; NULL: not asked for
  energy_source  TEXT,              -- the domains whose sum is a trial's energy_j: "system", "package-0 + dram-0"
  seed           TEXT NOT NULL,     -- unsigned 64 bit, in decimal
  planned_trials INTEGER NOT NULL,  -- of workloads, in the first blocks (a strategy may add blocks); adaptive: at most
  plan_hash      TEXT NOT NULL,     -- SHA-256 of plan_json
  plan_json      TEXT NOT NULL,     -- all that decides what is run
  source_file    TEXT NOT NULL,
  source_text    TEXT NOT NULL,     -- the experiment file as it was
  tool_version   TEXT NOT NULL,
  created_at     TEXT NOT NULL      -- UTC, ISO 8601
) STRICT;

-- Checksums of what has none in its own row: results/store/digest.hpp.
CREATE TABLE seal (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  plan   INTEGER NOT NULL,         -- of the experiment, its points, axes, workloads, constraints and facts of the machine
  looks  INTEGER NOT NULL,         -- at the sensors, as sessions began: the sum over all
  trials INTEGER NOT NULL,         -- the sum of all trials' own: none is missing
  later  INTEGER NOT NULL DEFAULT 0  -- of what is written as nights go on: sessions, nodes, jobs, trials given up, how many are planned
) STRICT;

-- How points are chosen, where not all of them are run.
CREATE TABLE search (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  method     TEXT NOT NULL,         -- which strategy chooses: 'adaptive', 'random', ...
  regret     REAL NOT NULL,         -- a share: a search by a model stops once no other setting can be better by more; 0: it does not;
  confidence REAL NOT NULL,         -- with this probability
  at_most    INTEGER                -- trials of each scenario; NULL: what the full grid would take
) STRICT;

-- What must hold at a point for it to be the answer.
CREATE TABLE constraint_rule (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,           -- 'slowdown' (a share), 'power', 'time', 'energy', or a metric
  relation TEXT NOT NULL CHECK (relation IN ('<=', '<', '>=', '>')),
  bound    REAL NOT NULL,
  text     TEXT NOT NULL,           -- "slowdown <= 5 %"
  workload_id INTEGER REFERENCES workload  -- that it is for; NULL: for all that have no objective of their own
) STRICT;

CREATE TABLE machine_fact (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- One run of the program on this file; a resumed night has several.
CREATE TABLE session (
  id            INTEGER PRIMARY KEY,
  pid           INTEGER NOT NULL,
  boot_id       TEXT NOT NULL,
  tool_version  TEXT NOT NULL,
  started_at    TEXT NOT NULL,
  ended_at      TEXT,              -- NULL: still running, or killed
  ended_how     TEXT,              -- 'done', 'interrupted', 'gave_up', 'error'
  current_trial TEXT,              -- key of the trial that was begun last
  trials_left   INTEGER,           -- of workloads, that one included, as far as is known; NULL: not told
  block_run_id  INTEGER REFERENCES block_run, -- of one of several machines, the block it ran; NULL: there is one machine
  recheck       INTEGER NOT NULL DEFAULT 0 CHECK (recheck IN (0, 1))  -- 1: it ran best, rivals and reference again, to see whether the answer still stands; its trials count for nothing else
) STRICT;

-- What such a session found, of each scenario.
CREATE TABLE recheck (
  id             INTEGER PRIMARY KEY,
  session_id     INTEGER NOT NULL REFERENCES session,
  scenario       TEXT NOT NULL,
  verdict        TEXT NOT NULL CHECK (verdict IN ('stands', 'changed', 'not_known')),
  why            TEXT NOT NULL,     -- in a sentence
  best_point_id  INTEGER NOT NULL REFERENCES point,  -- the answer then
  blocks         INTEGER NOT NULL,
  trials         INTEGER NOT NULL,
  counted        INTEGER NOT NULL,
  saving_before  REAL,              -- of the objective against the reference, a share, as it was stated; 95 %
  saving_before_low REAL,
  saving_before_high REAL,
  saving         REAL,              -- the same by this session's trials alone; 95 %; NULL: not known
  saving_low     REAL,
  saving_high    REAL,
  change         REAL,              -- of the objective at the best relative to the reference, since then, a share; 99 %
  change_low     REAL,
  change_high    REAL,
  question       TEXT               -- that it was of, in words; NULL: of a program before 1.2.3
) STRICT;

-- Where blocks were run on several machines (a cluster's nodes, or results that were merged): each block as one of them ran it.
CREATE TABLE block_run (
  id         INTEGER PRIMARY KEY,
  origin     TEXT NOT NULL UNIQUE, -- which file of which machine it was first written to
  block      INTEGER NOT NULL,     -- in this file
  node       TEXT NOT NULL,        -- the machine's name
  task       TEXT,                 -- of Slurm: '1234_3 start 1'; NULL: merged by hand
  complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),  -- all trials that it was to run are there
  left_out   TEXT                  -- why its trials do not count: 'block 3 counts as n3 ran it'; NULL: they do
) STRICT;
CREATE INDEX block_run_of_block ON block_run (block);
CREATE INDEX session_of_block_run ON session (block_run_id);

-- What each of these machines is.
CREATE TABLE node_fact (
  node  TEXT NOT NULL,
  name  TEXT NOT NULL,             -- as in machine_fact
  value TEXT NOT NULL,
  PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;

-- What a cluster's tasks handed in, by the file's name: each is taken once.
CREATE TABLE handed_in (
  name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Jobs that were submitted for this result.
CREATE TABLE submission (
  id           INTEGER PRIMARY KEY,
  job          TEXT NOT NULL,      -- Slurm's number
  blocks       TEXT NOT NULL,      -- JSON: [1, 2, 3]
  submitted_at TEXT NOT NULL
) STRICT;

-- Nodes that no more blocks are given to.
CREATE TABLE node_left_out (
  node TEXT PRIMARY KEY,
  why  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workload (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL,           -- as written in the experiment file, a JSON list or shell text; 'together: ' and the others' names
  -- Its own objective, where it has one; NULL: the experiment's.
  objective  TEXT CHECK (objective IN ('energy', 'time', 'edp', 'ed2p', 'cost')),
  per_metric TEXT,                 -- where it has one; '' per run of the command
  target     TEXT                  -- what it is run for, "loss <= 0.35"; NULL: all of it counts
) STRICT;

CREATE TABLE axis (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('knob', 'parameter'))
) STRICT;

CREATE TABLE point (
  id           INTEGER PRIMARY KEY,
  key          TEXT NOT NULL UNIQUE,
  workload_id  INTEGER NOT NULL REFERENCES workload,
  scenario     TEXT NOT NULL,      -- points of one scenario do the same work
  operating_point TEXT NOT NULL,   -- its knobs' settings; '' where no knob is set
  is_reference INTEGER NOT NULL CHECK (is_reference IN (0, 1)),
  in_plan      INTEGER NOT NULL DEFAULT 1 CHECK (in_plan IN (0, 1)),  -- 0: the experiment's file has it no more; its trials stay, and do not count
  growth_id    INTEGER REFERENCES growth  -- with which it came; NULL: it was there from the start
) STRICT;

-- How the experiment's file changed since the first trial.
CREATE TABLE growth (
  id                INTEGER PRIMARY KEY,
  grown_at          TEXT NOT NULL,
  changes           TEXT NOT NULL,     -- for people: "axes / cpu.frequency: 2.2 GHz added; repeat / min: 3 -> 4"
  first_block       INTEGER NOT NULL,  -- what it added is in blocks from this one on
  first_position    INTEGER NOT NULL,
  new_blocks        INTEGER NOT NULL,  -- in which the points that came with it are run
  old_blocks        INTEGER NOT NULL,  -- in which those that were there are run again; less than 0: so many that were planned are not run
  blocks_before     INTEGER NOT NULL,  -- of the points that were there, planned until then
  references_before TEXT NOT NULL,     -- JSON list of keys: what savings were against until then
  source_before     TEXT NOT NULL      -- the experiment file as it was until then
) STRICT;

-- What earlier results on the same machine say of the points: the shape of one of their workloads, its mean level
-- taken out.
CREATE TABLE prior_shape (
  point_id  INTEGER NOT NULL REFERENCES point,
  source    TEXT NOT NULL,         -- "old.sqlite: mixed"
  log_time  REAL NOT NULL,
  log_power REAL,                  -- NULL: no energy was measured
  PRIMARY KEY (source, point_id)
) STRICT, WITHOUT ROWID;

-- What is concluded from the trials, by the code that makes the report: written after each block and at the end of each
-- session, all of it anew.
CREATE TABLE conclusion (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  of_all_trials INTEGER NOT NULL,  -- rows of trial it was made from: with more of them it is out of date
  digest        INTEGER            -- checksum over what is concluded: where it differs, it is concluded anew
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
  drift_of_night REAL,             -- of the reference's objective from its first trial to its last, a share
  question       TEXT              -- that it answers, in words
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
  sensor_half_width REAL,          -- the sensors' part of it; NULL: not known, and not in it, or it is no sensor's quantity
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

-- What a search says besides, likewise.
CREATE TABLE search_answer (
  scenario      TEXT PRIMARY KEY,
  best_point_id INTEGER REFERENCES point,  -- NULL: none holds the constraints, or nothing is known
  bound         REAL,                -- a share: with search.confidence no other point that holds the constraints is better by more
  settings      INTEGER NOT NULL,    -- points that can be run
  settings_run  INTEGER NOT NULL,    -- of them, those of which a trial counts
  trials        INTEGER NOT NULL,    -- that count
  of_all_trials INTEGER NOT NULL     -- rows of trial it was made from: with more of them it is out of date
) STRICT, WITHOUT ROWID;
CREATE TABLE search_model (
  point_id  INTEGER PRIMARY KEY REFERENCES point,
  objective REAL NOT NULL,           -- median of what the model expects, in the objective's unit
  low_95    REAL NOT NULL,
  high_95   REAL NOT NULL,
  probability_best REAL NOT NULL
) STRICT;

CREATE TABLE point_value (
  point_id INTEGER NOT NULL REFERENCES point,
  axis_id  INTEGER NOT NULL REFERENCES axis,
  text     TEXT NOT NULL,
  number   REAL,                   -- SI units, NULL for words
  PRIMARY KEY (point_id, axis_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
  id            INTEGER PRIMARY KEY,
  key           TEXT NOT NULL UNIQUE,
  point_id      INTEGER NOT NULL REFERENCES point,
  session_id    INTEGER NOT NULL REFERENCES session,
  -- COLUMNS OF A TRIAL: results/store/trial_columns.cpp
) STRICT;
CREATE INDEX trial_of_point ON trial (point_id);
CREATE INDEX trial_of_session ON trial (session_id);
CREATE INDEX trial_of_block ON trial (block, role);

-- Regions that the workload marked, or each run of it.
CREATE TABLE region (
  trial_id   INTEGER NOT NULL REFERENCES trial,
  ordinal    INTEGER NOT NULL,
  name       TEXT NOT NULL,        -- '' is the whole process
  run        INTEGER NOT NULL,     -- which run of the command
  started_ns INTEGER NOT NULL,
  ended_ns   INTEGER NOT NULL,
  counted    INTEGER NOT NULL CHECK (counted IN (0, 1)),
  energy_j   REAL,                 -- NULL where it is shorter than the sensor can tell
  process    TEXT,                 -- that marked it: "4711", "4711/3" with its rank; NULL: it does not say
  energy_half_width_j REAL,        -- 95 %, what the sensors alone add; NULL: not known
  PRIMARY KEY (trial_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Requested, applied (read back) and delivered (sampled while the workload ran) are three things.
CREATE TABLE trial_setting (
  trial_id  INTEGER NOT NULL REFERENCES trial,
  axis_id   INTEGER NOT NULL REFERENCES axis,
  target    TEXT NOT NULL,         -- 'policy0', 'machine', 'workload'
  requested TEXT NOT NULL,
  applied   TEXT,
  delivered REAL,                  -- mean over the trial, SI units
  delivered_low  REAL,             -- 5th and 95th percentile of the readings
  delivered_high REAL,
  delivered_readings INTEGER NOT NULL DEFAULT 0,
  as_requested INTEGER CHECK (as_requested IN (0, 1)),  -- 0: something else was delivered; NULL: not known
  clock_tolerance_hz REAL,         -- what `delivered` is judged by: so near it is the one requested; NULL: no clock was requested
  clock_or_higher INTEGER CHECK (clock_or_higher IN (0, 1)),  -- 1: turbo is requested, so is any higher clock
  clock_quantity TEXT,             -- of a board, which of its clocks tells ('core_clock'); NULL: CPUs, which have one
  clock_only_proof INTEGER CHECK (clock_only_proof IN (0, 1)),  -- 1: a lock that cannot be read back
  busiest_share REAL,              -- of the trial, in which the busiest of the target's CPUs worked; NULL: not known
  kernel_counted_s REAL,           -- of the trial, that stats/time_in_state counts; NULL: it is not there
  kernel_elsewhere_s REAL,         -- of these, at another clock than the one requested
  PRIMARY KEY (trial_id, axis_id, target)
) STRICT, WITHOUT ROWID;

-- Power limits in force of the boards used.
CREATE TABLE trial_power_limit (
  trial_id INTEGER NOT NULL REFERENCES trial,
  domain   TEXT NOT NULL,          -- 'gpu-0'
  watts    REAL NOT NULL,
  PRIMARY KEY (trial_id, domain)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE,
  probe    TEXT NOT NULL,
  unit     TEXT NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('counter', 'gauge')),
  domain   TEXT NOT NULL,
  contained_in TEXT,               -- the domain that already holds this one: never sum both
  wraps_at REAL,
  source   TEXT NOT NULL,          -- the file or event it was read from
  under_load_only INTEGER NOT NULL DEFAULT 0,  -- 1: says nothing of hardware that idles
  averages_over_s REAL,            -- a gauge that is a mean over this time; NULL: not known from its driver
  lags_up_to_s REAL NOT NULL DEFAULT 0,        -- a counter's value is the sum up to a moment up to so long before
  told_when_new INTEGER NOT NULL DEFAULT 0,    -- 1: its source speaks when it has a new value: a reading is as new as its time
  late_by_s REAL                   -- what it says was so that long before it said it, as declared; readings have that time. NULL: nothing was declared
) STRICT;

-- Raw readings, packed (trace_codec.hpp says how; results/SCHEMA.md unpacks them in ten lines of Python). The view
-- `readings` shows them as rows. Channels that were read together share their time stamps.
CREATE TABLE reading_times (
  id        INTEGER PRIMARY KEY,
  trial_id  INTEGER NOT NULL REFERENCES trial,
  readings  INTEGER NOT NULL,
  first_ns  INTEGER NOT NULL,
  period_ns INTEGER NOT NULL,      -- typical; `packed` holds how each step differs from it
  packed    BLOB NOT NULL
) STRICT;
CREATE INDEX reading_times_of_trial ON reading_times (trial_id);
CREATE TABLE reading_values (
  id         INTEGER PRIMARY KEY,
  trial_id   INTEGER NOT NULL REFERENCES trial,
  channel_id INTEGER NOT NULL REFERENCES channel,
  times_id   INTEGER NOT NULL REFERENCES reading_times,
  factor     REAL,                 -- values are whole numbers x factor / divisor, packed as differences; NULL: packed as
  divisor    REAL,                 -- they are
  packed     BLOB NOT NULL,
  absences   BLOB,                 -- a byte a reading: 0 there is a value, 1 absent, 2 denied, 3 gone, 4 impossible; NULL: all are there
  UNIQUE (trial_id, channel_id)
) STRICT;
CREATE INDEX reading_values_of_times ON reading_values (times_id);

-- Energy per channel, computed from the readings; may be computed again.
CREATE TABLE channel_energy (
  trial_id   INTEGER NOT NULL REFERENCES trial,
  channel_id INTEGER NOT NULL REFERENCES channel,
  method     TEXT NOT NULL CHECK (method IN ('counter', 'integral')),
  joules     REAL,                 -- NULL if not known; `fault` says why
  half_width_j REAL,               -- 95 %, what the sensor alone adds
  as_read_j  REAL,                 -- counters: plain difference of what could be read at the edges
  readings   INTEGER NOT NULL,
  fresh_readings INTEGER NOT NULL,
  fault      TEXT,
  systematic_j REAL,               -- of half_width_j, what may be the same in all trials of a point
  PRIMARY KEY (trial_id, channel_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
  trial_id INTEGER NOT NULL REFERENCES trial,
  ordinal  INTEGER NOT NULL,       -- in the order printed; a name may come more than once
  name     TEXT NOT NULL,
  value    REAL NOT NULL,
  unit     TEXT NOT NULL,
  run      INTEGER NOT NULL DEFAULT 1,  -- of the trial, that told it
  time_ns  INTEGER,                -- when it was marked; NULL: it was printed
  counted_s REAL,                  -- how long what counts had lasted then; of the metric that the objective has a target for
  energy_j REAL,                   -- from the beginning of what counts until then; of the metric that the objective has a target for
  energy_half_width_j REAL,        -- 95 %, what the sensors alone add to it
  count_of REAL,                   -- of a share told as a count ("4312 of 4355"), what it is of; its value is in per cent
  PRIMARY KEY (trial_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Each of those that ran at once in a trial; of a trial of one alone there is none.
CREATE TABLE trial_instance (
  trial_id   INTEGER NOT NULL REFERENCES trial,
  run        INTEGER NOT NULL,     -- of the trial's runs, the one that is its: as in region and metric
  instance   INTEGER NOT NULL,     -- from 1, in the order of the file
  workload   TEXT NOT NULL,
  name       TEXT NOT NULL,        -- 'instance 2 of 3', 'train'
  outcome    TEXT NOT NULL CHECK (outcome IN ('completed', 'exited', 'signalled', 'timed_out', 'ended_with_others')),
  exit_code  INTEGER,
  signal     TEXT,
  started_ns INTEGER NOT NULL,
  ended_ns   INTEGER NOT NULL,
  region_s   REAL,                 -- of what counts of it
  units      REAL,                 -- of work; NULL: the objective is per run
  user_s     REAL NOT NULL,
  system_s   REAL NOT NULL,
  output_tail BLOB NOT NULL,
  error_tail  BLOB NOT NULL,
  PRIMARY KEY (trial_id, run)
) STRICT, WITHOUT ROWID;

-- What the sensors were found to be worth at the start of each session.
CREATE TABLE sensor_audit (
  session_id  INTEGER NOT NULL REFERENCES session,
  channel_id  INTEGER NOT NULL REFERENCES channel,
  state       TEXT NOT NULL CHECK (state IN ('alive', 'steady', 'dead', 'denied', 'gone', 'absent')),
  readings    INTEGER NOT NULL,
  update_s    REAL,                -- between fresh values; NULL: the look did not tell
  at_least    INTEGER NOT NULL CHECK (at_least IN (0, 1)),  -- 1: every look found a fresh value, so it may be faster
  fresh_per_s REAL,
  resolution  REAL,                -- smallest step seen, in the channel's unit
  rise_s      REAL,                -- from a step of the load to 90 % of it
  period_s    REAL NOT NULL,       -- how often it is read from then on
  energy_j    REAL,                -- of the look
  half_width_j REAL,
  window_s    REAL,                -- each value is a mean over so long, by a load that came and went; NULL: not measured
  latency_s   REAL,                -- how old values are when they are read, likewise; of a counter at most
  PRIMARY KEY (session_id, channel_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sensor_agreement (
  session_id INTEGER NOT NULL REFERENCES session,
  channel_id INTEGER NOT NULL REFERENCES channel,
  other_id   INTEGER NOT NULL REFERENCES channel,
  is_part    INTEGER NOT NULL CHECK (is_part IN (0, 1)),  -- the other holds this one; else they should be equal
  energy_j   REAL NOT NULL,
  other_j    REAL NOT NULL,
  PRIMARY KEY (session_id, channel_id, other_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id         INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session,
  trial_id   INTEGER REFERENCES trial,
  kind       TEXT NOT NULL,        -- a stable word: 'output_truncated', 'sensor_dead', ...
  message    TEXT NOT NULL
) STRICT;
