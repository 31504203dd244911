-- The result file, version 4. One SQLite file per experiment.
--
-- Tables are in the singular and are the program's own; the views below, in the plural, are the interface
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

-- How points are chosen, where not all of them are run.
CREATE TABLE search (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  method     TEXT NOT NULL CHECK (method IN ('adaptive')),
  regret     REAL NOT NULL,         -- a share: stop once no other setting can be better by more,
  confidence REAL NOT NULL,         -- with this probability
  at_most    INTEGER                -- trials of each scenario; NULL: what the full grid would take
) STRICT;

-- What must hold at a point for it to be the answer.
CREATE TABLE constraint_rule (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,           -- 'slowdown' (a share), 'power', 'time', 'energy', or a metric
  relation TEXT NOT NULL CHECK (relation IN ('<=', '<', '>=', '>')),
  bound    REAL NOT NULL,
  text     TEXT NOT NULL            -- "slowdown <= 5 %"
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
  ended_how     TEXT,              -- 'done', 'interrupted', 'error'
  current_trial TEXT               -- key of the trial that was begun last
) STRICT;

CREATE TABLE workload (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL            -- as written in the experiment file, a JSON list or shell text
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
  is_reference INTEGER NOT NULL CHECK (is_reference IN (0, 1))
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

-- What the search says, written at the end of each session.
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
  role          TEXT NOT NULL CHECK (role IN
                  ('point', 'reference_first', 'reference_last', 'warm_up', 'idle_before', 'idle_after')),
  attempt       INTEGER NOT NULL,  -- 2: run again because the first was disturbed
  block         INTEGER NOT NULL,
  position      INTEGER NOT NULL,  -- place in the planned order, from 1
  started_at    TEXT NOT NULL,     -- UTC, ISO 8601
  slot_s        REAL NOT NULL,     -- from the first setting to the verdict: what the night paid for it
  started_ns    INTEGER,           -- just before the (first) launch
  ended_ns      INTEGER,           -- the (last) child was gone
  runs          INTEGER NOT NULL,  -- of the command in this trial
  region        TEXT NOT NULL,     -- what counts: a marked region; '' is the whole process
  region_s      REAL,              -- its length, all runs together
  outcome       TEXT NOT NULL CHECK (outcome IN
                  ('completed', 'exited', 'signalled', 'timed_out', 'not_launched', 'knob_refused', 'idle')),
  exit_code     INTEGER,
  signal        TEXT,
  verdict       TEXT NOT NULL,     -- 'ok', or why the trial does not count: see results/store/trial_record.hpp
  verdict_text  TEXT NOT NULL,     -- the same in a sentence; '' if ok
  energy_j      REAL,              -- total over region_s, of experiment.energy_source
  energy_half_width_j REAL,        -- 95 %, what the sensors alone add to it
  fresh_readings INTEGER NOT NULL, -- values of the energy source inside the region that were no repeats
  units         REAL,              -- of work, all runs together; NULL: the objective is per run
  objective     REAL,              -- per run or per unit
  temperature_c REAL,              -- the hottest sensor at the start
  gate_wait_s   REAL,              -- until the temperature was back; NULL: no gate
  gate          TEXT CHECK (gate IN ('in_band', 'waited', 'timed_out')),
  settle_s      REAL,              -- from the last setting to the launch
  settle        TEXT CHECK (settle IN ('held', 'timed_out')),  -- NULL: no clock can be read at rest
  foreign_cpu_s REAL,              -- CPU time of other processes meanwhile
  run_queue     INTEGER,           -- other runnable threads just before
  throttle_events REAL,            -- thermal throttle events of the CPUs meanwhile
  power_cap_share REAL,            -- of the region: how long a GPU board's power limit held its clocks down
  thermal_share REAL,              -- likewise by heat; NULL: no board counts it
  power_limit_w REAL,              -- the lowest power limit in force of the boards used
  user_s        REAL,
  system_s      REAL,
  max_rss_bytes INTEGER,
  leftovers     INTEGER NOT NULL,  -- processes it left behind, which were ended
  output_tail   BLOB NOT NULL,
  output_bytes  INTEGER NOT NULL,  -- all that was written, kept or not
  error_tail    BLOB NOT NULL,
  error_bytes   INTEGER NOT NULL
) STRICT;
CREATE INDEX trial_of_point ON trial (point_id);
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
  PRIMARY KEY (trial_id, axis_id, target)
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
  source   TEXT NOT NULL           -- the file or event it was read from
) STRICT;

CREATE TABLE reading (
  trial_id   INTEGER NOT NULL REFERENCES trial,
  channel_id INTEGER NOT NULL REFERENCES channel,
  time_ns    INTEGER NOT NULL,
  value      REAL,
  absence    TEXT CHECK (absence IN ('absent', 'denied', 'gone')),
  PRIMARY KEY (trial_id, channel_id, time_ns),
  CHECK ((value IS NULL) <> (absence IS NULL))
) STRICT, WITHOUT ROWID;

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
  PRIMARY KEY (trial_id, channel_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
  trial_id INTEGER NOT NULL REFERENCES trial,
  ordinal  INTEGER NOT NULL,       -- in the order printed; a name may come more than once
  name     TEXT NOT NULL,
  value    REAL NOT NULL,
  unit     TEXT NOT NULL,
  PRIMARY KEY (trial_id, ordinal)
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

-- ---------------------------------------------------------------- views: the interface for analysts

CREATE VIEW experiments AS
  SELECT name, description, objective, per_metric, energy_source, seed, planned_trials,
         (SELECT count(*) FROM trials WHERE role <> 'warm_up') AS finished_trials, plan_hash, source_file, tool_version, created_at
  FROM experiment;

CREATE VIEW workloads AS SELECT name AS workload, command FROM workload;

-- Mean power of an operating point at rest, from the windows around a block.
CREATE VIEW idle AS
  SELECT p.operating_point, t.block, avg(t.energy_j / t.region_s) AS idle_power_w,
         sqrt(sum(t.energy_half_width_j * t.energy_half_width_j / (t.region_s * t.region_s))) / count(*) AS idle_half_width_w,
         count(*) AS windows
  FROM trial t JOIN point p ON p.id = t.point_id
  WHERE t.role IN ('idle_before', 'idle_after') AND t.verdict = 'ok' AND t.energy_j IS NOT NULL
  GROUP BY p.operating_point, t.block;

-- Workload trials. Times and energies are per run of the command; counts: 1 if it goes into its point's mean.
CREATE VIEW trials AS
  SELECT t.id AS trial, t.key, w.name AS workload, p.scenario, p.key AS point, p.is_reference, t.role, t.attempt, t.block, t.position,
         t.started_at, t.outcome, t.exit_code, t.signal, t.verdict, t.verdict_text,
         (t.verdict = 'ok' AND t.role <> 'warm_up') AS counts,
         t.region, t.runs,
         t.region_s / max(1, t.runs) AS time_s,
         t.energy_j / max(1, t.runs) AS energy_j,
         t.energy_half_width_j / max(1, t.runs) AS energy_half_width_j,
         t.energy_j / t.region_s AS mean_power_w,
         i.idle_power_w, i.idle_half_width_w,
         (t.energy_j - i.idle_power_w * t.region_s) / max(1, t.runs) AS above_idle_j,
         t.fresh_readings,
         t.units, t.energy_j / t.units AS energy_per_unit_j, t.region_s / t.units AS time_per_unit_s,
         CASE WHEN t.verdict = 'ok' THEN t.objective END AS objective_value,
         (t.ended_ns - t.started_ns) / 1e9 AS process_s, t.slot_s,
         t.temperature_c, t.gate, t.gate_wait_s, t.settle, t.settle_s, t.foreign_cpu_s, t.run_queue, t.throttle_events, t.power_cap_share, t.thermal_share, t.power_limit_w,
         t.user_s, t.system_s, t.max_rss_bytes, t.leftovers, t.output_bytes,
         CAST(t.output_tail AS TEXT) AS output_tail, CAST(t.error_tail AS TEXT) AS error_tail
  FROM trial t JOIN point p ON p.id = t.point_id JOIN workload w ON w.id = p.workload_id
  LEFT JOIN idle i ON i.operating_point = p.operating_point AND i.block = t.block
  WHERE t.role NOT IN ('idle_before', 'idle_after');

CREATE VIEW settings AS
  SELECT s.trial_id AS trial, a.name AS axis, a.kind, s.target, s.requested, s.applied, s.delivered,
         s.delivered_low, s.delivered_high, s.delivered_readings, s.as_requested
  FROM trial_setting s JOIN axis a ON a.id = s.axis_id;

-- Means over the trials that count; delivered_instead: the clocks that boards ran at where they were not those of the
-- point's name, which it then must not be called by. Intervals, and what cannot be told apart, are in `dvfs-plan report`.
CREATE VIEW points AS
  SELECT p.key AS point, w.name AS workload, p.scenario, p.operating_point, p.is_reference,
         sum(t.role IS NOT NULL AND t.role <> 'warm_up') AS trials,
         coalesce(sum(t.counts), 0) AS counted,
         avg(CASE WHEN t.counts THEN t.time_s END) AS time_s,
         avg(CASE WHEN t.counts THEN t.energy_j END) AS energy_j,
         avg(CASE WHEN t.counts THEN t.above_idle_j END) AS above_idle_j,
         avg(CASE WHEN t.counts THEN t.mean_power_w END) AS mean_power_w,
         avg(CASE WHEN t.counts THEN t.energy_per_unit_j END) AS energy_per_unit_j,
         avg(CASE WHEN t.counts THEN t.time_per_unit_s END) AS time_per_unit_s,
         avg(CASE WHEN t.counts THEN t.objective_value END) AS objective_value,
         (SELECT group_concat(axis || ' ' || CASE WHEN high - low <= 0.01 * high THEN printf('%.0f MHz', (low + high) / 2e6)
                                             ELSE printf('%.0f to %.0f MHz', low / 1e6, high / 1e6) END
                              || CASE WHEN n < (SELECT count(*) FROM trials c WHERE c.point = p.key AND c.counts)
                                      THEN printf(' in %d trials', n) ELSE '' END, ', ')
          FROM (SELECT s.axis, min(s.delivered) AS low, max(s.delivered) AS high, count(DISTINCT u.trial) AS n
                FROM settings s JOIN trials u ON u.trial = s.trial
                WHERE u.point = p.key AND u.counts AND s.as_requested = 0 GROUP BY s.axis)) AS delivered_instead
  FROM point p JOIN workload w ON w.id = p.workload_id LEFT JOIN trials t ON t.point = p.key
  GROUP BY p.id;

-- Mean logarithm of the time (per unit of work where the objective is) of a point in a block: what slowdowns are made of.
CREATE VIEW block_times AS
  SELECT point, scenario, is_reference, block, avg(ln(coalesce(time_per_unit_s, time_s))) AS log_time
  FROM trials WHERE counts AND time_s > 0 GROUP BY point, block;

-- Each constraint at each point: its value, and whether it holds (NULL: not known).
CREATE VIEW point_constraints AS
  SELECT point, scenario, name, text, value,
         CASE relation WHEN '<=' THEN value <= bound WHEN '<' THEN value < bound
                       WHEN '>=' THEN value >= bound WHEN '>' THEN value > bound END AS holds
  FROM (
    SELECT p.point, p.scenario, c.name, c.text, c.relation, c.bound,
           CASE c.name
             WHEN 'power' THEN p.mean_power_w
             WHEN 'time' THEN p.time_s
             WHEN 'energy' THEN p.energy_j
             WHEN 'slowdown' THEN (SELECT exp(avg(m.log_time - r.log_time)) - 1 FROM block_times m JOIN block_times r USING (block)
                                   WHERE m.point = p.point AND r.is_reference AND r.scenario = p.scenario)
             ELSE (SELECT avg(value) FROM (
                     SELECT (SELECT m.value FROM metric m WHERE m.trial_id = t.trial AND m.name = c.name
                             ORDER BY m.ordinal DESC LIMIT 1) AS value
                     FROM trials t WHERE t.point = p.point AND t.counts))
           END AS value
    FROM points p, constraint_rule c);

CREATE VIEW point_values AS
  SELECT p.key AS point, a.name AS axis, a.kind, v.text, v.number
  FROM point_value v JOIN point p ON p.id = v.point_id JOIN axis a ON a.id = v.axis_id;

-- The point with the lowest mean objective of each scenario of those that hold all constraints; among equals the
-- faster. Where points were not run in the same blocks, `dvfs-plan report` takes the blocks' level out first.
-- Of an adaptive search: what it names (searches).
CREATE VIEW best AS
  SELECT scenario, point, delivered_instead, workload, trials, counted, time_s, energy_j, above_idle_j, mean_power_w,
         objective_value FROM (
    SELECT *, row_number() OVER (PARTITION BY scenario ORDER BY objective_value, coalesce(time_per_unit_s, time_s)) AS place
    FROM points WHERE objective_value IS NOT NULL
      AND CASE WHEN EXISTS (SELECT 1 FROM search) THEN point IN (SELECT best FROM searches)
          ELSE NOT EXISTS (SELECT 1 FROM point_constraints c WHERE c.point = points.point AND c.holds IS NOT 1) END)
  WHERE place = 1;

-- What an adaptive search claims; no row while trials are in the file that it has not seen (the report sees all).
CREATE VIEW searches AS
  SELECT a.scenario, p.key AS best, a.bound, s.confidence, s.regret AS regret_asked_for, a.settings, a.settings_run, a.trials
  FROM search s, search_answer a LEFT JOIN point p ON p.id = a.best_point_id
  WHERE a.of_all_trials = (SELECT count(*) FROM trial);

-- The model's curve: every planned point that can be run, run or not.
CREATE VIEW search_points AS
  SELECT p.scenario, p.key AS point, m.objective, m.low_95, m.high_95, m.probability_best
  FROM search_model m JOIN point p ON p.id = m.point_id JOIN search_answer a ON a.scenario = p.scenario
  WHERE a.of_all_trials = (SELECT count(*) FROM trial);

-- The reference at the start and at the end of each block; flagged: it changed by more than the experiment allows and
-- by more than the sensors' own uncertainty explains.
CREATE VIEW drift AS
  SELECT scenario, block, first_value, last_value, last_value / first_value - 1 AS change, sensor_half_width,
         abs(last_value / first_value - 1) > max((SELECT drift_limit FROM experiment), coalesce(sensor_half_width, 0)) AS flagged,
         first_temperature_c, last_temperature_c
  FROM (SELECT scenario, block,
               avg(CASE WHEN role = 'reference_first' THEN objective_value END) AS first_value,
               avg(CASE WHEN role = 'reference_last' THEN objective_value END) AS last_value,
               CASE (SELECT objective FROM experiment) WHEN 'time' THEN 0
                 ELSE sqrt(sum(energy_half_width_j * energy_half_width_j / (energy_j * energy_j))) END AS sensor_half_width,
               avg(CASE WHEN role = 'reference_first' THEN temperature_c END) AS first_temperature_c,
               avg(CASE WHEN role = 'reference_last' THEN temperature_c END) AS last_temperature_c
        FROM trials WHERE role IN ('reference_first', 'reference_last') AND counts AND attempt = 1 GROUP BY scenario, block);

CREATE VIEW regions AS
  SELECT trial_id AS trial, name AS region, run, counted, started_ns, (ended_ns - started_ns) / 1e9 AS time_s, energy_j
  FROM region;

-- Regions that occur many times in a trial. Energy is known for those long enough; known says for how many.
CREATE VIEW iterations AS
  SELECT trial, region, n, total_s, mean_s,
         CASE WHEN n > 1 THEN sqrt(max(0, squares_s - n * mean_s * mean_s) / (n - 1)) END AS sd_s,
         known, mean_j, CASE WHEN known > 1 THEN sqrt(max(0, squares_j - known * mean_j * mean_j) / (known - 1)) END AS sd_j
  FROM (SELECT trial, region, count(*) AS n, sum(time_s) AS total_s, avg(time_s) AS mean_s, sum(time_s * time_s) AS squares_s,
               count(energy_j) AS known, avg(energy_j) AS mean_j, sum(energy_j * energy_j) AS squares_j
        FROM regions GROUP BY trial, region);

CREATE VIEW sensors AS
  SELECT a.session_id AS session, c.name AS channel, c.unit, c.kind, c.domain, a.state, a.update_s, a.at_least, a.fresh_per_s,
         a.resolution, a.rise_s, a.period_s, a.readings, a.energy_j, a.half_width_j
  FROM sensor_audit a JOIN channel c ON c.id = a.channel_id;

CREATE VIEW sensor_agreements AS
  SELECT a.session_id AS session, c.name AS channel, o.name AS other, a.is_part, a.energy_j, a.other_j,
         a.energy_j / a.other_j AS ratio
  FROM sensor_agreement a JOIN channel c ON c.id = a.channel_id JOIN channel o ON o.id = a.other_id;

CREATE VIEW metrics AS SELECT trial_id AS trial, name, value, unit FROM metric;

CREATE VIEW energy AS
  SELECT c.trial_id AS trial, ch.name AS channel, ch.domain, ch.contained_in, c.method, c.joules AS energy_j,
         c.half_width_j, c.as_read_j, c.readings, c.fresh_readings, c.fault
  FROM channel_energy c JOIN channel ch ON ch.id = c.channel_id;

CREATE VIEW readings AS
  SELECT r.trial_id AS trial, c.name AS channel, c.unit, r.time_ns, r.value, r.absence
  FROM reading r JOIN channel c ON c.id = r.channel_id;

CREATE VIEW warnings AS SELECT session_id AS session, trial_id AS trial, kind, message FROM event;
