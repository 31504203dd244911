-- The views of the result file: the interface for analysts. Made anew by each migration.

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
  SELECT v.trial_id AS trial, c.name AS channel, c.unit, r.time_ns, r.value, r.absence
  FROM reading_values v JOIN channel c ON c.id = v.channel_id JOIN reading_times t ON t.id = v.times_id
  JOIN unpack_readings(t.readings, t.first_ns, t.period_ns, t.packed, v.divisor, v.packed, v.absences) r;

CREATE VIEW warnings AS SELECT session_id AS session, trial_id AS trial, kind, message FROM event;
