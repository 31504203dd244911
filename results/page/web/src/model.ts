// What the program puts into the page: the object of `dvfs-plan report --json`, and traces beside it.
export interface Estimate { mean: number; median: number; n: number; half_width_95: number | null; standard_deviation: number | null }
export interface Change { value: number; pairs: number; low_95: number | null; high_95: number | null }
export interface Constraint { constraint: string; name: string; value: number | null; holds: boolean | null; certain: boolean | null }
export interface Metric extends Estimate { unit: string; count?: number; count_of?: number; count_low_95?: number; count_high_95?: number }
export type Values = Record<string, number | null>;
export type Settings = Record<string, string>;
export interface Point {
  point: string; called: string; workload: string; settings: Settings; values: Values; reference: boolean; trials: number; counted: number;
  not_counted: Record<string, number>; energy_j: Estimate | null; above_idle_j: Estimate | null; energy_per_unit_j: Estimate | null;
  time_s: Estimate | null; mean_power_w: Estimate | null; objective: Estimate | null; work_energy_j: Estimate | null; work_time_s: Estimate | null;
  edp_js: Estimate | null; ed2p_js2: Estimate | null; saving: Change | null; slowdown: Change | null; gain: Change | null; feasible: boolean;
  not_told_apart_from_best: boolean; on_pareto_front: boolean; constraints: Constraint[];
  metrics: Record<string, Metric>; boards_j?: Record<string, Estimate>; all_running_share?: Estimate | null;
  instances?: { name: string; workload: string; time_s: Estimate | null; slowdown: Change | null }[];
}
export interface ModelPoint { point: string; settings: Settings; values: Values; run: boolean; objective: number; low_95: number; high_95: number; probability_best: number }
export interface Search { best: string | null; bound: number | null; confidence: number; settings: number; settings_run: number; trials: number; model: ModelPoint[] }
export interface Drift { block: number; change: number | null; flagged: boolean; first_temperature_c: number | null; last_temperature_c: number | null }
export interface Scenario {
  scenario: string; objective: string; per: string | null; target: string | null; constraint_rules: { name: string; relation: string; bound: number }[]; search: Search | null; best: string | null; reference: string | null; points: Point[]; pareto_front: string[];
  by_slowdown: { from: number; point: string }[]; drift: Drift[]; trials: number; counted: number;
  nodes?: NodeOf[]; spread_between_nodes?: { deviation: number; low_95: number | null; high_95: number | null };
}
export interface NodePoint { point: string; work_energy_j: number | null; work_time_s: number | null; mean_power_w: number | null }
export interface NodeOf {
  node: string; blocks: number; trials: number; best: string | null; best_objective: Estimate | null; gain_of_best: Change | null; agrees: boolean;
  points: NodePoint[]; against_others?: { value: number; low_95: number | null; high_95: number | null; outlying: boolean };
}
export interface Setting {
  axis: string; target: string; requested: string; applied: string | null; delivered: number | null; delivered_low: number | null;
  delivered_high: number | null; as_requested: boolean | null;
}
export interface Trial {
  trial: number; key: string; scenario: string; point: string; workload: string; reference: boolean; role: string; attempt: number; block: number;
  position: number; started_at: string; outcome: string; verdict: string; verdict_text: string; counts: boolean; time_s: number | null;
  energy_j: number | null; mean_power_w: number | null; objective: number | null; temperature_c: number | null; settings: Setting[];
  output_tail?: string; error_tail?: string;
}
export interface Noticed { trial: number; key: string; kind: string; message: string }
export interface Report {
  experiment: string; description: string; objective: string; per: string | null; energy_source: string | null; created_at: string; tool_version: string;
  planned_trials: number; finished_trials: number; not_counted: Record<string, number>; answer: string[]; answers: { scenario: string; sentence: string }[];
  unfinished: string; asked?: string[]; notes: string[]; warnings: string[]; noticed: Noticed[]; sensors: string[]; constraint_rules: { name: string; relation: string; bound: number }[];
  axes: { name: string; kind: string }[]; scenarios: Scenario[]; trials: Trial[]; machine: Record<string, string>;
  node_facts?: { node: string; name: string; value: string }[];
  sensor_audit: Record<string, string | number | null>[]; sessions: Record<string, string | null>[];
  approach: { trial: number; name: string; value: number; after_s: number; energy_j: number; energy_half_width_j: number | null }[];
  experiment_file: { name: string; text: string; seed: string; plan_hash: string } | null;
}
export interface TraceGroup { name: string; unit: string; step: boolean }
export interface TrialTrace {
  from_s: number; to_s: number;                        // seconds from the launch
  regions: [string, number, number, boolean][];        // name, from, to, counts
  throttled: [string, number, number][];               // what held the clocks down, from, to
  parts: [number, number][];                           // index of the group, number of samples
  data: string;                                        // base64: all values (float32), then all times (uint16 over from..to)
}
export interface Traces { groups: TraceGroup[]; trials: Record<string, TrialTrace>; left_out: number }

function parsed<T>(id: string): T {
  return JSON.parse(document.getElementById(id)!.textContent!) as T;
}
export const readReport = (): Report => parsed<Report>("report");
let traces: Traces | undefined;
export const readTraces = (): Traces => (traces ??= parsed<Traces>("traces"));
