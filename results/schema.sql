-- The result file, version 1. One SQLite file per experiment.
--
-- Tables are in the singular and are the program's own; the views below, in the plural, are the interface
-- for analysts and stay stable. Units are in the names: _j joules, _s seconds, _w watts, _hz hertz,
-- _ns nanoseconds of CLOCK_MONOTONIC. NULL is "not known", never 0. Migrations only add.

CREATE TABLE experiment (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  name           TEXT NOT NULL,
  description    TEXT NOT NULL,
  objective      TEXT NOT NULL CHECK (objective IN ('energy', 'time', 'edp', 'ed2p')),
  energy_source  TEXT,              -- the domains whose sum is a trial's energy_j: "system", "package-0 + dram-0"
  seed           TEXT NOT NULL,     -- unsigned 64 bit, in decimal
  planned_trials INTEGER NOT NULL,
  plan_hash      TEXT NOT NULL,     -- SHA-256 of plan_json
  plan_json      TEXT NOT NULL,     -- all that decides what is run
  source_file    TEXT NOT NULL,
  source_text    TEXT NOT NULL,     -- the experiment file as it was
  tool_version   TEXT NOT NULL,
  created_at     TEXT NOT NULL      -- UTC, ISO 8601
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
  is_reference INTEGER NOT NULL CHECK (is_reference IN (0, 1))
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
  block         INTEGER NOT NULL,
  position      INTEGER NOT NULL,  -- place in the planned order, from 1
  started_at    TEXT NOT NULL,     -- UTC, ISO 8601
  started_ns    INTEGER,           -- just before the launch
  ended_ns      INTEGER,           -- the child was gone
  outcome       TEXT NOT NULL CHECK (outcome IN
                  ('completed', 'exited', 'signalled', 'timed_out', 'not_launched', 'knob_refused')),
  exit_code     INTEGER,
  signal        TEXT,
  verdict       TEXT NOT NULL,     -- 'ok', or why the trial does not count: see results/trial_record.hpp
  verdict_text  TEXT NOT NULL,     -- the same in a sentence; '' if ok
  energy_j      REAL,              -- total, of experiment.energy_source
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
  readings   INTEGER NOT NULL,
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

CREATE TABLE event (
  id         INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session,
  trial_id   INTEGER REFERENCES trial,
  kind       TEXT NOT NULL,        -- a stable word: 'output_truncated', 'sensor_dead', ...
  message    TEXT NOT NULL
) STRICT;

-- ---------------------------------------------------------------- views: the interface for analysts

CREATE VIEW experiments AS
  SELECT name, description, objective, energy_source, seed, planned_trials,
         (SELECT count(*) FROM trial) AS finished_trials, plan_hash, source_file, tool_version, created_at
  FROM experiment;

CREATE VIEW workloads AS SELECT name AS workload, command FROM workload;

CREATE VIEW trials AS
  SELECT t.id AS trial, t.key, w.name AS workload, p.scenario, p.key AS point, p.is_reference, t.block, t.position, t.started_at,
         t.outcome, t.exit_code, t.signal, t.verdict, t.verdict_text,
         (t.ended_ns - t.started_ns) / 1e9 AS time_s,
         t.energy_j,
         t.energy_j / ((t.ended_ns - t.started_ns) / 1e9) AS mean_power_w,
         t.user_s, t.system_s, t.max_rss_bytes, t.leftovers, t.output_bytes,
         CAST(t.output_tail AS TEXT) AS output_tail, CAST(t.error_tail AS TEXT) AS error_tail,
         CASE WHEN t.verdict = 'ok' THEN
           CASE e.objective
             WHEN 'energy' THEN t.energy_j
             WHEN 'time' THEN (t.ended_ns - t.started_ns) / 1e9
             WHEN 'edp' THEN t.energy_j * ((t.ended_ns - t.started_ns) / 1e9)
             WHEN 'ed2p' THEN t.energy_j * ((t.ended_ns - t.started_ns) / 1e9) * ((t.ended_ns - t.started_ns) / 1e9)
           END
         END AS objective_value
  FROM trial t JOIN point p ON p.id = t.point_id JOIN workload w ON w.id = p.workload_id, experiment e;

CREATE VIEW settings AS
  SELECT s.trial_id AS trial, a.name AS axis, a.kind, s.target, s.requested, s.applied, s.delivered,
         s.delivered_low, s.delivered_high, s.delivered_readings
  FROM trial_setting s JOIN axis a ON a.id = s.axis_id;

-- Means over the trials that count (verdict 'ok').
CREATE VIEW points AS
  SELECT p.key AS point, w.name AS workload, p.scenario, p.is_reference,
         count(t.trial) AS trials,
         sum(t.verdict = 'ok') AS counted,
         avg(CASE WHEN t.verdict = 'ok' THEN t.time_s END) AS time_s,
         avg(CASE WHEN t.verdict = 'ok' THEN t.energy_j END) AS energy_j,
         avg(CASE WHEN t.verdict = 'ok' THEN t.mean_power_w END) AS mean_power_w,
         avg(t.objective_value) AS objective_value
  FROM point p JOIN workload w ON w.id = p.workload_id LEFT JOIN trials t ON t.point = p.key
  GROUP BY p.id;

CREATE VIEW point_values AS
  SELECT p.key AS point, a.name AS axis, a.kind, v.text, v.number
  FROM point_value v JOIN point p ON p.id = v.point_id JOIN axis a ON a.id = v.axis_id;

-- The point with the lowest objective of each scenario; among equals the faster.
CREATE VIEW best AS
  SELECT scenario, point, workload, trials, counted, time_s, energy_j, mean_power_w, objective_value FROM (
    SELECT *, row_number() OVER (PARTITION BY scenario ORDER BY objective_value, time_s) AS place
    FROM points WHERE objective_value IS NOT NULL)
  WHERE place = 1;

CREATE VIEW metrics AS SELECT trial_id AS trial, name, value, unit FROM metric;

CREATE VIEW energy AS
  SELECT c.trial_id AS trial, ch.name AS channel, ch.domain, ch.contained_in, c.method, c.joules AS energy_j,
         c.readings, c.fault
  FROM channel_energy c JOIN channel ch ON ch.id = c.channel_id;

CREATE VIEW readings AS
  SELECT r.trial_id AS trial, c.name AS channel, c.unit, r.time_ns, r.value, r.absence
  FROM reading r JOIN channel c ON c.id = r.channel_id;

CREATE VIEW warnings AS SELECT session_id AS session, trial_id AS trial, kind, message FROM event;
