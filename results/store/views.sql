-- The views of the result file: the interface for analysts. Made anew by each migration. Lines that begin with --| say what
-- a column is; `./dev schema` makes results/SCHEMA.md of them.

-- The experiment, one row.
--| name: of the experiment file
--| description: likewise
--| objective: what is minimised: 'energy', 'time', 'edp', 'ed2p', 'cost'
--| per_metric: the metric that counts units of work; NULL: per run of the command
--| energy_source: the domains whose sum is a trial's energy: 'package-0 + dram-0'; NULL: none
--| seed: of the shuffle, unsigned 64 bit in decimal; as the experiment asks now (view `growths` says where that changed: what ran before was shuffled by the former one)
--| planned_trials: of workloads, in the first blocks; of an adaptive search the most there can be. Where `repeat` was made smaller also those of the blocks that are there; of values that were taken away none
--| finished_trials: of workloads, reruns of one place of a block apart; may be more than are planned where a strategy adds blocks
--| concluded: 1: what is concluded (best, points, drift and the like) is of all trials in the file; 0: of those up to the end of the last block, while a night is under way or was killed. `dvfs-plan sql` and `report` always know of all
--| plan_hash: SHA-256 of all that decides what is run
--| source_file: the experiment file; of programs before 1.2.3 as it was named, else its absolute path
--| tool_version: of dvfs-plan that made the result
--| created_at: UTC, ISO 8601
CREATE VIEW experiments AS
  SELECT name, description, objective, per_metric, energy_source, seed, planned_trials,
         (SELECT count(*) FROM trials WHERE role <> 'warm_up' AND left_out IS NULL AND attempt = 1) AS finished_trials,
         coalesce((SELECT of_all_trials = (SELECT count(*) FROM trial WHERE session_id IN (SELECT id FROM session WHERE NOT recheck)) FROM conclusion), 0) AS concluded, plan_hash, source_file, tool_version, created_at
  FROM experiment;

-- What machine it is, as it was looked at when the result was begun; of several machines: node_facts.
--| name: of the fact: 'cpu model', 'kernel', 'gpu-0'
--| value: its text
CREATE VIEW machine AS SELECT name, value FROM machine_fact;

-- Each run of the program on this file. Of several results that were joined each has a row a block that it ran: `pid`, `started_at` and `node` say which are one.
--| session: its number
--| started_at: UTC, ISO 8601
--| ended_at: likewise; NULL: it runs, or was killed
--| ended_how: 'done', 'interrupted', 'gave_up', 'error'; NULL: it runs, or was killed
--| tool_version: of dvfs-plan
--| pid: its process
--| boot_id: of the machine's kernel since its start
--| node: the machine that it was; NULL: there is one
--| recheck: 1: it only looked whether the answer still stands (view rechecks); its trials count for nothing else
--| trials: finished in it, warm-ups and idle windows apart
CREATE VIEW sessions AS
  SELECT s.id AS session, s.started_at, s.ended_at, s.ended_how, s.tool_version, s.pid, s.boot_id, r.node, s.recheck,
         (SELECT count(*) FROM trial t WHERE t.session_id = s.id AND t.role NOT IN ('warm_up', 'idle_before', 'idle_after')) AS trials
  FROM session s LEFT JOIN block_run r ON r.id = s.block_run_id;

-- What was run.
--| workload: its name
--| command: as the experiment file has it: a JSON list of words, or text for a shell
CREATE VIEW workloads AS SELECT name AS workload, command FROM workload;

-- Mean power of an operating point at rest, from the windows around a block.
--| operating_point: the knobs' settings
--| block: which
--| idle_power_w: mean
--| idle_half_width_w: the sensors' own part (95 %), and half of what the windows differ by; what the machine draws at rest at other times is not in it; NULL where the first is not known
--| idle_systematic_w: of the sensors' own part, what may be the same in all windows
--| windows: how many it was measured in
CREATE VIEW idle AS
  SELECT p.operating_point, t.block, avg(t.energy_j / t.region_s) AS idle_power_w,
         CASE WHEN count(t.energy_half_width_j) = count(*) THEN
           sqrt(sum(max(0, t.energy_half_width_j * t.energy_half_width_j - coalesce(t.energy_systematic_j * t.energy_systematic_j, 0)) / (t.region_s * t.region_s)) / (count(*) * count(*))
                + avg(coalesce(t.energy_systematic_j, 0) / t.region_s) * avg(coalesce(t.energy_systematic_j, 0) / t.region_s)
                + (max(t.energy_j / t.region_s) - min(t.energy_j / t.region_s)) * (max(t.energy_j / t.region_s) - min(t.energy_j / t.region_s)) / 4)
         END AS idle_half_width_w,
         CASE WHEN count(t.energy_half_width_j) = count(*) THEN avg(coalesce(t.energy_systematic_j, 0) / t.region_s) END AS idle_systematic_w,
         count(*) AS windows
  FROM trial t JOIN point p ON p.id = t.point_id JOIN session s ON s.id = t.session_id
  LEFT JOIN block_run r ON r.id = s.block_run_id
  WHERE t.role IN ('idle_before', 'idle_after') AND t.verdict = 'ok' AND t.energy_j IS NOT NULL AND r.left_out IS NULL
  -- those of a recheck are of blocks of its own
  GROUP BY p.operating_point, t.block;

-- Workload trials. Times and energies are per run of the command; counts: 1 if it goes into its point's mean.
--| trial: number of the trial in this file; what the other views call trial
--| key: '<point> #<block>': unique, and what resuming goes by
--| workload: its name
--| scenario: points of one scenario do the same work and compare
--| point: key of the point
--| is_reference: 1: savings of its scenario are against this point
--| counts: 1: it goes into its point's means; where a sensor could tell a point's longer trials alone, none of the point's does, whatever stands here (warnings of the report; points.counted)
--| node: the machine that ran it, where there are several; NULL: there is one
--| left_out: why it does not count whatever its verdict: its block counts as another machine ran it, it is of a recheck, or the experiment's file has its point no more; NULL: that is not so
--| COLUMNS OF A TRIAL: results/store/trial_columns.cpp
--| time_s: of one run: the length of the region
--| energy_j: of one run, over the region, of experiments.energy_source; NULL: not known
--| energy_half_width_j: 95 %, what the sensors alone add
--| energy_systematic_j: of it, what may be the same in all trials of a point, and does not shrink with more of them
--| mean_power_w: over the region
--| idle_power_w: of the operating point at rest, in this block; NULL where the trial is left out: those windows are of the trials that are not
--| idle_half_width_w: of that, as in view idle
--| idle_systematic_w: of it, what may be the same in all blocks
--| above_idle_j: energy less what the machine would have drawn at rest
--| energy_per_unit_j: energy of a unit of work
--| time_per_unit_s: time of a unit of work
--| objective_value: what is minimised, in the objective's unit; NULL where the trial is not ok
--| more_than: the same of a trial that did not reach its target: what it takes is more; NULL: it is no such trial
--| process_s: from the first launch to the last end
--| output_tail: the last of stdout; of a command that was run several times, of its last run
--| error_tail: the last of stderr, likewise
CREATE VIEW trials AS
  SELECT t.id AS trial, t.key, w.name AS workload, p.scenario,
         -- THE COLUMNS OF A TRIAL THAT ARE SHOWN AS THEY ARE
         p.key AS point, p.is_reference, (t.verdict = 'ok' AND t.role <> 'warm_up' AND r.left_out IS NULL AND NOT s.recheck AND p.in_plan) AS counts,
         r.node, coalesce(r.left_out, CASE WHEN s.recheck THEN 'it is of a recheck' WHEN NOT p.in_plan THEN 'the experiment has its point no more' END) AS left_out,
         t.region_s / max(1, t.runs) AS time_s,
         t.energy_j / max(1, t.runs) AS energy_j,
         t.energy_half_width_j / max(1, t.runs) AS energy_half_width_j,
         t.energy_systematic_j / max(1, t.runs) AS energy_systematic_j,
         t.energy_j / t.region_s AS mean_power_w,
         i.idle_power_w, i.idle_half_width_w, i.idle_systematic_w,
         (t.energy_j - i.idle_power_w * t.region_s) / max(1, t.runs) AS above_idle_j,
         t.energy_j / t.units AS energy_per_unit_j, t.region_s / t.units AS time_per_unit_s,
         CASE WHEN t.verdict = 'ok' THEN t.objective END AS objective_value,
         CASE WHEN t.verdict = 'censored' THEN t.objective END AS more_than,
         (t.ended_ns - t.started_ns) / 1e9 AS process_s,
         CAST(t.output_tail AS TEXT) AS output_tail, CAST(t.error_tail AS TEXT) AS error_tail
  FROM trial t JOIN point p ON p.id = t.point_id JOIN workload w ON w.id = p.workload_id
  JOIN session s ON s.id = t.session_id LEFT JOIN block_run r ON r.id = s.block_run_id
  LEFT JOIN idle i ON i.operating_point = p.operating_point AND i.block = t.block AND r.left_out IS NULL
  WHERE t.role NOT IN ('idle_before', 'idle_after');

-- How the experiment's file changed since the first trial: what it asks of trials that were there, and what it added.
--| grown_at: UTC
--| changes: what changed, in words
--| first_block: the blocks that it planned begin here; NULL: it planned none. What confirms, and what a budget or an interval buys, is planned while it runs (trials.block)
--| file_before: the experiment file as it was until then
CREATE VIEW growths AS
  SELECT grown_at, changes, CASE WHEN new_blocks > 0 OR old_blocks > 0 THEN first_block END AS first_block, source_before AS file_before
  FROM growth ORDER BY id;

-- The machines that ran blocks, where there are several (the nodes of a cluster, or results that were merged).
--| node: its name
--| blocks: that count as it ran them
--| trials: of workloads in these, warm-ups apart
--| left_out: why no more blocks are given to it; NULL: that is not so
CREATE VIEW nodes AS
  SELECT r.node, count(DISTINCT CASE WHEN r.left_out IS NULL THEN r.block END) AS blocks,
         (SELECT count(*) FROM trials t WHERE t.node = r.node AND t.left_out IS NULL AND t.role <> 'warm_up') AS trials,
         (SELECT why FROM node_left_out o WHERE o.node = r.node) AS left_out
  FROM block_run r GROUP BY r.node;

-- What each of them is.
--| node: its name
--| name: 'cpu.model', 'cpu.microcode', 'kernel', 'gpu-0'
--| value: as it was read there
CREATE VIEW node_facts AS SELECT node, name, value FROM node_fact;

-- Each block as one of them ran it. Where two ran it (a node was cut off, or died), one counts.
--| block: which
--| node: the machine
--| task: of Slurm: '1234_3 start 1'; NULL: merged by hand
--| complete: 1: all that this machine ran of it is there (of a task of Slurm's: it has said so, and all has come)
--| trials: of workloads that are, warm-ups apart
--| left_out: why they do not count; NULL: they do
CREATE VIEW block_runs AS
  SELECT r.block, r.node, r.task, r.complete,
         (SELECT count(*) FROM trial t JOIN session s ON s.id = t.session_id
          WHERE s.block_run_id = r.id AND t.role NOT IN ('warm_up', 'idle_before', 'idle_after')) AS trials,
         r.left_out
  FROM block_run r;

-- Requested, applied (read back) and delivered (sampled while the workload ran) are three things; a row a trial, axis and target.
--| trial: trials.trial
--| axis: its name
--| kind: 'knob': what the workload's own parameters are is in point_values
--| target: 'policy0', 'machine', 'gpu-0', 'workload'
--| requested: as written, with its unit
--| applied: as it was read back
--| delivered: mean over the trial in SI units (Hz, W); NULL: not sampled
--| delivered_low: 5th percentile of the readings
--| delivered_high: 95th percentile
--| delivered_readings: how many
--| as_requested: 0: something else was delivered; NULL: not known
CREATE VIEW settings AS
  SELECT s.trial_id AS trial, a.name AS axis, a.kind, s.target, s.requested, s.applied, s.delivered,
         s.delivered_low, s.delivered_high, s.delivered_readings, s.as_requested
  FROM trial_setting s JOIN axis a ON a.id = s.axis_id;

-- What is said of each point: means over the trials that count, with 95 % intervals, as the report has them.
-- delivered_instead: the clocks that boards ran at where they were not those of the point's name, which it then must not be called by.
--| point: its key
--| workload: its name
--| scenario: points of one scenario compare
--| operating_point: the knobs' settings
--| is_reference: 1: savings are against it
--| trials: run, warm-ups apart
--| counted: of them, with verdict ok, and not chosen by their length (trials.counts)
--| time_s: mean of one run
--| energy_j: mean of one run
--| above_idle_j: mean, less the machine at rest
--| mean_power_w: mean
--| energy_per_unit_j: mean, of a unit of work
--| time_per_unit_s: mean, of a unit of work
--| objective_value: mean, in the objective's unit
--| edp: energy x time, mean, of a unit of work where the objective is
--| ed2p: energy x time x time, likewise
--| delivered_instead: clocks that ran where others were requested; NULL: as requested
--| time_half_width_s: of the 95 % interval of time_s; NULL: not known
--| energy_half_width_j: of the 95 % interval of energy_j; NULL: not known
--| energy_sensors_half_width_j: of it, what the sensors may add; NULL: not known, and then in no half-width and no interval here
--| above_idle_half_width_j: of the 95 % interval of above_idle_j; NULL: not known
--| mean_power_half_width_w: of the 95 % interval of mean_power_w; NULL: not known
--| energy_per_unit_half_width_j: of the 95 % interval of energy_per_unit_j; NULL: not known
--| time_per_unit_half_width_s: of the 95 % interval of time_per_unit_s; NULL: not known
--| objective_half_width: of the 95 % interval of objective_value; NULL: not known
--| edp_half_width: of the 95 % interval of edp; NULL: not known
--| ed2p_half_width: of the 95 % interval of ed2p; NULL: not known
--| saving: of energy against the reference, a share, paired within blocks (of an adaptive search by its model)
--| saving_low: of its 95 % interval
--| saving_high: of its 95 % interval
--| slowdown: of time, likewise: positive is slower
--| slowdown_low: of its 95 % interval
--| slowdown_high: of its 95 % interval
--| gain: of the objective, likewise: positive is less
--| gain_low: of its 95 % interval
--| gain_high: of its 95 % interval
--| feasible: 1: all constraints hold; NULL: not known
--| not_told_apart: 1: from the best, at the 5 % level; NULL: not known
--| on_pareto_front: 1: no other point has both less energy and less time; NULL: not known
CREATE VIEW points AS
  SELECT p.key AS point, w.name AS workload, p.scenario, p.operating_point, p.is_reference,
         coalesce(a.trials, 0) AS trials, coalesce(a.counted, 0) AS counted,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'time_s') AS time_s,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'energy_j') AS energy_j,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'above_idle_j') AS above_idle_j,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'mean_power_w') AS mean_power_w,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'energy_per_unit_j') AS energy_per_unit_j,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'time_per_unit_s') AS time_per_unit_s,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'objective_value') AS objective_value,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'edp') AS edp,
         (SELECT mean FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'ed2p') AS ed2p,
         a.delivered_instead,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'time_s') AS time_half_width_s,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'energy_j') AS energy_half_width_j,
         (SELECT sensor_half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'energy_j') AS energy_sensors_half_width_j,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'above_idle_j') AS above_idle_half_width_j,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'mean_power_w') AS mean_power_half_width_w,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'energy_per_unit_j') AS energy_per_unit_half_width_j,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'time_per_unit_s') AS time_per_unit_half_width_s,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'objective_value') AS objective_half_width,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'edp') AS edp_half_width,
         (SELECT half_width FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'ed2p') AS ed2p_half_width,
         saving.value AS saving, saving.low AS saving_low, saving.high AS saving_high,
         slowdown.value AS slowdown, slowdown.low AS slowdown_low, slowdown.high AS slowdown_high,
         gain.value AS gain, gain.low AS gain_low, gain.high AS gain_high,
         CASE WHEN EXISTS (SELECT 1 FROM constraint_answer c WHERE c.point_id = p.id AND c.holds = 0) THEN 0
              WHEN EXISTS (SELECT 1 FROM constraint_answer c WHERE c.point_id = p.id AND c.holds IS NULL) THEN NULL
              WHEN a.counted = 0 AND NOT EXISTS (SELECT 1 FROM trial t WHERE t.point_id = p.id AND t.verdict = 'censored' AND t.role <> 'warm_up' AND t.objective IS NOT NULL
                AND t.session_id IN (SELECT s.id FROM session s LEFT JOIN block_run r ON r.id = s.block_run_id WHERE NOT s.recheck AND r.left_out IS NULL)) THEN NULL
              ELSE a.feasible END AS feasible,
         CASE WHEN a.not_told_apart OR EXISTS (SELECT 1 FROM point_quantity q WHERE q.point_id = p.id AND q.quantity = 'objective_value') THEN a.not_told_apart END AS not_told_apart,
         CASE WHEN a.on_pareto_front OR (SELECT count(*) FROM point_quantity q WHERE q.point_id = p.id
           AND q.quantity IN (CASE WHEN coalesce(w.per_metric, (SELECT per_metric FROM experiment), '') = '' THEN 'energy_j' ELSE 'energy_per_unit_j' END,
                              CASE WHEN coalesce(w.per_metric, (SELECT per_metric FROM experiment), '') = '' THEN 'time_s' ELSE 'time_per_unit_s' END)) = 2 THEN a.on_pareto_front END AS on_pareto_front
  FROM point p JOIN workload w ON w.id = p.workload_id LEFT JOIN point_answer a ON a.point_id = p.id
  LEFT JOIN point_change saving ON saving.point_id = p.id AND saving.change = 'saving'
  LEFT JOIN point_change slowdown ON slowdown.point_id = p.id AND slowdown.change = 'slowdown'
  LEFT JOIN point_change gain ON gain.point_id = p.id AND gain.change = 'gain';

-- The same as rows.
--| point: its key
--| scenario: its scenario
--| quantity: as points has it: 'energy_j', 'edp'
--| mean: over the trials that count
--| half_width: of its 95 % interval; NULL: not known
--| n: trials it is of
--| sensor_half_width: of half_width, what the sensors may add; NULL: not known, and not in it (of a time: there is none)
CREATE VIEW quantities AS
  SELECT p.key AS point, p.scenario, q.quantity, q.mean, q.half_width, q.n, q.sensor_half_width FROM point_quantity q JOIN point p ON p.id = q.point_id;

-- Each point against the reference of its scenario, as rows.
--| point: its key
--| scenario: its scenario
--| change: 'saving' (of energy), 'slowdown' (of time), 'gain' (of the objective)
--| value: a share
--| low: of its 95 % interval; NULL: not known
--| high: likewise
--| pairs: blocks it is of
CREATE VIEW changes AS
  SELECT p.key AS point, p.scenario, c.change, c.value, c.low, c.high, c.pairs FROM point_change c JOIN point p ON p.id = c.point_id;

-- Mean logarithm of the time (per unit of work where the objective is, else per run; of copies that do the same work each run is a unit) of a point in a block: what slowdowns are made
-- of (in a search one by one they are its model's). Where the trials of a point did unequal work, or numbers of runs, it is by what they did together: log(ratio of the totals) + each
-- trial's departure from it.
--| point: its key
--| scenario: its scenario
--| is_reference: 1: the reference
--| block: which
--| log_time: natural logarithm of seconds
CREATE VIEW block_times AS
  WITH used AS (
    SELECT v.point, v.scenario, v.is_reference, v.block, v.time_s, t.region_s AS seconds,
           CASE WHEN t.units IS NULL AND coalesce(w.per_metric, (SELECT per_metric FROM experiment), '') = '' THEN t.runs ELSE t.units END AS units
    FROM trials v JOIN trial t ON t.id = v.trial JOIN workload w ON w.name = v.workload WHERE v.counts AND v.time_s > 0),
  work AS (
    SELECT point, sum(seconds) / sum(units) AS ratio, avg(units) AS mean_units,
           max(units) - min(units) > 1e-12 * max(units) AS unequal
    FROM used WHERE units IS NOT NULL GROUP BY point HAVING sum(units) > 0)
  SELECT u.point, u.scenario, u.is_reference, u.block,
         avg(CASE WHEN u.units IS NULL THEN ln(u.time_s)
                  WHEN w.unequal THEN ln(w.ratio) + (u.seconds / w.ratio - u.units) / w.mean_units
                  ELSE ln(u.seconds / u.units) END) AS log_time
  FROM used u LEFT JOIN work w ON w.point = u.point
  GROUP BY u.point, u.block HAVING log_time IS NOT NULL;

-- Each constraint at each point: its value, and whether it holds (NULL: not known).
--| point: its key
--| scenario: its scenario
--| name: 'slowdown' (a share), 'power' (W), 'time' (s), 'energy' (J), or a metric
--| text: the rule: 'slowdown <= 5 %'
--| value: at this point, in the rule's unit
--| holds: 1, 0, or NULL: not known
--| certain: 1: the whole 95 % interval is on that side; NULL: not known
CREATE VIEW point_constraints AS
  SELECT p.key AS point, p.scenario, r.name, r.text, c.value, c.holds, c.certain
  FROM point p JOIN workload w ON w.id = p.workload_id
  JOIN constraint_rule r ON r.workload_id = w.id OR (r.workload_id IS NULL AND w.objective IS NULL)
  LEFT JOIN constraint_answer c ON c.point_id = p.id AND c.constraint_id = r.id;

-- Where each point lies on each axis.
--| point: its key
--| axis: its name
--| kind: 'knob' or 'parameter'
--| text: as written
--| number: in SI units; NULL: a word
CREATE VIEW point_values AS
  SELECT p.key AS point, a.name AS axis, a.kind, v.text, v.number
  FROM point_value v JOIN point p ON p.id = v.point_id JOIN axis a ON a.id = v.axis_id;

-- The answer: the point with the least of the objective of each scenario, of those that hold all constraints; among equals the
-- faster; of an adaptive search what it names. Where points were not run in the same blocks, the blocks' level is taken out first.
--| scenario: its name
--| point: the best of it
--| delivered_instead: see points
--| workload: its name
--| trials: see points
--| counted: see points
--| time_s: see points
--| energy_j: see points
--| above_idle_j: see points
--| mean_power_w: see points
--| energy_half_width_j: see points
--| energy_sensors_half_width_j: see points; NULL: not known, and then in no half-width and no interval here
--| objective_value: see points
--| reference: the point that gains are against; NULL: none was run
--| gain: how much less of the objective than the reference, a share, as the report states it; NULL: it is the reference, or not known
--| gain_low: of its 95 % interval
--| gain_high: likewise
--| gain_corrected: 1: for its having been chosen as the least of so many
--| gain_from_fresh_blocks: 1: of the blocks alone that were run to confirm it
--| chosen_among: so many points
--| slowdown: see points
--| slowdown_low: see points
--| slowdown_high: see points
CREATE VIEW best AS
  SELECT a.scenario, p.point, p.delivered_instead, p.workload, p.trials, p.counted, p.time_s, p.energy_j, p.above_idle_j, p.mean_power_w,
         p.energy_half_width_j, p.energy_sensors_half_width_j, p.objective_value, r.key AS reference, a.gain, a.gain_low, a.gain_high, a.gain_corrected, a.gain_from_fresh_blocks, a.chosen_among,
         p.slowdown, p.slowdown_low, p.slowdown_high
  FROM answer a JOIN point b ON b.id = a.best_point_id JOIN points p ON p.point = b.key
  LEFT JOIN point r ON r.id = a.reference_point_id;

-- Each scenario as a whole; best is NULL where no point can be named.
--| scenario: its name
--| best: key of the point with the least of the objective
--| reference: key of the point that savings are against
--| best_edp: key of the point with the least energy-delay product
--| best_ed2p: likewise of energy x time x time
--| fastest_not_told_apart: key of the fastest point of those that cannot be told from the best
--| planned_points: run or not
--| unknown_points: of them, those of which nothing is known
--| trials: run, warm-ups apart
--| counted: of them, with verdict ok
--| drift_of_night: of the reference's objective from its first trial to its last, a share
--| question: that its best answers, in words: the objective, the limits, the reference
CREATE VIEW scenarios AS
  SELECT a.scenario, b.key AS best, r.key AS reference, e.key AS best_edp, e2.key AS best_ed2p, f.key AS fastest_not_told_apart,
         a.planned_points, a.unknown_points, a.trials, a.counted, a.drift_of_night, a.question
  FROM answer a LEFT JOIN point b ON b.id = a.best_point_id LEFT JOIN point r ON r.id = a.reference_point_id
  LEFT JOIN point e ON e.id = a.best_edp_point_id LEFT JOIN point e2 ON e2.id = a.best_ed2p_point_id
  LEFT JOIN point f ON f.id = a.fastest_point_id;

-- What a search one by one claims; no row while trials are in the file that it has not seen (the report sees all).
--| scenario: its name
--| method: which strategy chose
--| best: key of the point it names
--| bound: a share: no other point that holds the constraints is better by more,
--| confidence: with this probability
--| regret_asked_for: a share: it stops once the bound is this low; 0: it does not stop by that
--| settings: points that can be run
--| settings_run: of them, those of which a trial counts
--| trials: that count
CREATE VIEW searches AS
  SELECT a.scenario, s.method, p.key AS best, a.bound, s.confidence, s.regret AS regret_asked_for, a.settings, a.settings_run, a.trials
  FROM search s, search_answer a LEFT JOIN point p ON p.id = a.best_point_id
  WHERE a.of_all_trials = (SELECT count(*) FROM trial WHERE session_id IN (SELECT id FROM session WHERE NOT recheck));

-- The model's curve: every planned point that can be run, run or not.
--| scenario: its name
--| point: its key
--| objective: median of what the model expects, in the objective's unit
--| low_95: of its band
--| high_95: of its band
--| probability_best: that it is the best of its scenario
CREATE VIEW search_points AS
  SELECT p.scenario, p.key AS point, m.objective, m.low_95, m.high_95, m.probability_best
  FROM search_model m JOIN point p ON p.id = m.point_id JOIN search_answer a ON a.scenario = p.scenario
  WHERE a.of_all_trials = (SELECT count(*) FROM trial WHERE session_id IN (SELECT id FROM session WHERE NOT recheck));

-- The reference's two trials in each block; flagged: they differ by more than the experiment allows and by more than the
-- sensors' own uncertainty explains. That may be drift, or the scatter of single trials.
--| scenario: its name
--| block: which
--| first_value: the reference's objective at the start
--| last_value: at the end
--| change: a share
--| sensor_half_width: 95 %, a share: what the sensors alone add to the change
--| flagged: 1: see above
--| first_temperature_c: the hottest sensor at the first
--| last_temperature_c: at the last
CREATE VIEW drift AS
  SELECT scenario, block, first_value, last_value, change, sensor_half_width, flagged, first_temperature_c, last_temperature_c
  FROM block_drift;

-- Whether the answer still stood, each time that it was looked at (dvfs-plan recheck).
--| session: that ran it
--| at: when, UTC
--| scenario: whose answer
--| point: the best then
--| verdict: 'stands', 'changed', 'not_known'
--| why: in a sentence
--| blocks: of best, rivals and reference
--| trials: in them
--| counted: of these
--| saving_before: of the objective against the reference, a share, as it was stated
--| saving_before_low: 95 %
--| saving_before_high: 95 %
--| saving: the same by the recheck alone; NULL: not known
--| saving_low: 95 %
--| saving_high: 95 %
--| change: of the objective at the best relative to the reference, since then, a share; positive is worse
--| change_low_99: 99 %
--| change_high_99: 99 %
--| question: that it was of, in words (scenarios.question): of another it says nothing; NULL: of a program before 1.2.3
CREATE VIEW rechecks AS
  SELECT k.session_id AS session, s.started_at AS at, k.scenario, p.key AS point, k.verdict, k.why, k.blocks, k.trials, k.counted,
         k.saving_before, k.saving_before_low, k.saving_before_high, k.saving, k.saving_low, k.saving_high,
         k.change, k.change_low AS change_low_99, k.change_high AS change_high_99, k.question
  FROM recheck k JOIN session s ON s.id = k.session_id JOIN point p ON p.id = k.best_point_id ORDER BY k.id;

-- What a workload marked, or each run of it.
--| trial: trials.trial
--| region: its name; '' is the whole process
--| run: which run of the command
--| counted: 1: the trial is judged by it
--| started_ns: CLOCK_MONOTONIC
--| time_s: its length
--| energy_j: NULL: shorter than the sensor can tell
--| process: that marked it: '4711', or '4711/3' for rank 3; NULL: it does not say. What several mark at once counts once
--| energy_half_width_j: 95 %, what the sensors alone add: a gauge's values have in them what lies beside a short region; NULL: not known
CREATE VIEW regions AS
  SELECT trial_id AS trial, name AS region, run, counted, started_ns, (ended_ns - started_ns) / 1e9 AS time_s, energy_j, process,
         energy_half_width_j
  FROM region;

-- Regions that occur many times in a trial. Energy is known for those long enough; known says for how many.
--| trial: trials.trial
--| region: its name
--| n: how often it occurs
--| total_s: all together
--| mean_s: of one
--| sd_s: standard deviation
--| known: of how many the energy is known
--| mean_j: of those
--| sd_j: standard deviation
--| mean_half_width_j: 95 %, what the sensors alone add to the mean, where it is the same in each: no repetition averages it out
CREATE VIEW iterations AS
  SELECT trial, region, n, total_s, mean_s,
         CASE WHEN n > 1 THEN sqrt(max(0, squares_s - n * mean_s * mean_s) / (n - 1)) END AS sd_s,
         known, mean_j, CASE WHEN known > 1 THEN sqrt(max(0, squares_j - known * mean_j * mean_j) / (known - 1)) END AS sd_j,
         mean_half_width_j
  FROM (SELECT trial, region, count(*) AS n, sum(time_s) AS total_s, avg(time_s) AS mean_s, sum(time_s * time_s) AS squares_s,
               count(energy_j) AS known, avg(energy_j) AS mean_j, sum(energy_j * energy_j) AS squares_j,
               avg(energy_half_width_j) AS mean_half_width_j
        FROM regions GROUP BY trial, region);

-- What the sensors were found to be worth at the start of each session.
--| session: which
--| channel: its name
--| unit: 'J', 'W', 'Hz', 'C', 's', '%', 'B'
--| kind: 'counter' or 'gauge'
--| domain: what it belongs to: 'package-0', 'gpu-0', 'system'
--| state: 'alive', 'steady', 'dead', 'denied', 'gone', 'absent'
--| update_s: between fresh values; NULL: the look did not tell
--| at_least: 1: every look found a fresh value, so it may be faster
--| fresh_per_s: fresh values a second
--| resolution: smallest step seen, in the channel's unit
--| rise_s: from a step of the load to 90 % of it
--| window_s: each value is a mean over so long, by a load that came and went; NULL: not measured
--| latency_s: how old values are when they are read, likewise; of a counter at most
--| period_s: how often it is read
--| readings: of the look
--| energy_j: of the look
--| half_width_j: 95 %, of that
CREATE VIEW sensors AS
  SELECT a.session_id AS session, c.name AS channel, c.unit, c.kind, c.domain, a.state, a.update_s, a.at_least, a.fresh_per_s,
         a.resolution, a.rise_s, a.window_s, a.latency_s, a.period_s, a.readings, a.energy_j, a.half_width_j
  FROM sensor_audit a JOIN channel c ON c.id = a.channel_id;

-- Sensors of the same thing, or of a part and its whole, during the look.
--| session: which
--| channel: its name
--| other: the one it is compared with
--| is_part: 1: the other holds this one; else they should be equal
--| energy_j: of the channel
--| other_j: of the other
--| ratio: energy_j / other_j
CREATE VIEW sensor_agreements AS
  SELECT a.session_id AS session, c.name AS channel, o.name AS other, a.is_part, a.energy_j, a.other_j,
         a.energy_j / a.other_j AS ratio
  FROM sensor_agreement a JOIN channel c ON c.id = a.channel_id JOIN channel o ON o.id = a.other_id;

-- What workloads printed, in their order; a name may come more than once.
--| trial: trials.trial
--| name: of the metric
--| value: in the unit
--| unit: as printed; '': none
--| run: of the trial, that told it; the instance is in view instances
--| after_s: how long what counts had lasted when it was marked; of the metric that the objective has a target for (of thousands of them some)
--| energy_j: used until then; of the metric that the objective has a target for
--| energy_half_width_j: 95 %, what the sensors alone add to it
--| count_of: of a share told as a count ("4312 of 4355"), what it is of; NULL: it is no such share
CREATE VIEW metrics AS
  SELECT m.trial_id AS trial, m.name, m.value, m.unit, m.run,
         m.counted_s AS after_s,
         m.energy_j, m.energy_half_width_j, m.count_of
  FROM metric m;

-- Each of those that ran at once in a trial, several runs of it apart. What one of them used by itself cannot be measured.
--| trial: trials.trial
--| run: of the trial, that is its
--| instance: from 1, in the order of the file
--| workload: its name
--| name: 'instance 2 of 3', 'train'
--| outcome: 'completed', 'exited', 'signalled', 'timed_out', 'ended_with_others'
--| region_s: of what counts of it
--| units: of work; NULL: the objective is per run
--| time_per_work_s: region_s per unit of work, or per run
--| user_s: CPU time of it and of those that it waited for; what others used that it started is in the trial's alone
--| system_s: likewise in the kernel
CREATE VIEW instances AS
  SELECT trial_id AS trial, run, instance, workload, name, outcome, region_s, units, region_s / coalesce(units, 1) AS time_per_work_s,
         user_s, system_s
  FROM trial_instance;

-- Each channel's energy over the region of each trial, also of those that are not in experiments.energy_source.
--| trial: trials.trial
--| channel: its name
--| domain: what it belongs to
--| contained_in: the domain that already holds this one: never sum both
--| method: 'counter' (difference) or 'integral' (of a gauge)
--| energy_j: all runs together; NULL: not known, fault says why
--| half_width_j: 95 %, what the sensor alone adds
--| as_read_j: counters: plain difference of what could be read at the edges
--| readings: that had a value
--| fresh_readings: of them, no repeats; 0 too where `fault` says why there is no energy
--| fault: why it is not known; NULL too where nothing counts (the trial's verdict says why)
CREATE VIEW energy AS
  SELECT c.trial_id AS trial, ch.name AS channel, ch.domain, ch.contained_in, c.method, c.joules AS energy_j,
         c.half_width_j, c.as_read_j, c.readings, c.fresh_readings, c.fault
  FROM channel_energy c JOIN channel ch ON ch.id = c.channel_id;

-- Every raw reading, as a row. The file holds them packed: this view needs the function unpack_readings (below).
--| trial: trials.trial
--| channel: its name
--| unit: of the value
--| time_ns: CLOCK_MONOTONIC
--| value: NULL: there was none
--| absence: 'absent', 'denied', 'gone', 'impossible' where there was no value
CREATE VIEW readings AS
  SELECT v.trial_id AS trial, c.name AS channel, c.unit, r.time_ns, r.value, r.absence
  FROM reading_values v JOIN channel c ON c.id = v.channel_id JOIN reading_times t ON t.id = v.times_id
  JOIN unpack_readings(t.readings, t.first_ns, t.period_ns, t.packed, v.factor, v.divisor, v.packed, v.absences) r;

-- What happened that a reader should know.
--| session: which
--| trial: trials.trial; NULL: of the session
--| kind: a stable word: 'sensor_dead', 'output_truncated', ...
--| message: a sentence
CREATE VIEW warnings AS SELECT session_id AS session, trial_id AS trial, kind, message FROM event;
