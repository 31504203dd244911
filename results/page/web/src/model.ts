// What the program puts into the page: the object of `dvfs-plan report --json`, and traces beside it.
export interface Estimate { mean: number; median: number; n: number; half_width_95: number | null; standard_deviation: number | null }
export interface Change { value: number; pairs: number; low_95: number | null; high_95: number | null }
export interface Constraint { constraint: string; name: string; value: number | null; holds: boolean | null; certain: boolean | null }
export interface Metric extends Estimate { unit: string; told_in: number; count?: number; count_of?: number; count_low_95?: number; count_high_95?: number }
export type Values = Record<string, number | null>;
export type Settings = Record<string, string>;
export interface Point {
  point: string; called: string; workload: string; settings: Settings; values: Values; reference: boolean; trials: number; counted: number;
  not_counted: Record<string, number>; energy_j: Estimate | null; above_idle_j: Estimate | null; energy_per_unit_j: Estimate | null;
  time_s: Estimate | null; mean_power_w: Estimate | null; objective: Estimate | null; work_energy_j: Estimate | null; work_time_s: Estimate | null;
  energy_level_j: number | null; time_level_s: number | null;
  edp_js: Estimate | null; ed2p_js2: Estimate | null; saving: Change | null; slowdown: Change | null; gain: Change | null; feasible: boolean | null;
  not_told_apart_from_best: boolean; on_pareto_front: boolean; constraints: Constraint[];
  metrics: Record<string, Metric>; boards_j?: Record<string, Estimate>; saved_j?: Change | null; throughput_per_s?: Estimate | null; all_running_share?: Estimate | null;
  instances?: { name: string; workload: string; time_s: Estimate | null; slowdown: Change | null }[];
}
export interface ModelPoint { point: string; settings: Settings; values: Values; run: boolean; objective: number; low_95: number | null; high_95: number | null; probability_best: number | null }
export interface Search { best: string | null; bound: number | null; confidence: number; settings: number; settings_run: number; trials: number; model: ModelPoint[] }
export interface Drift { block: number; change: number | null; flagged: boolean; first_temperature_c: number | null; last_temperature_c: number | null }
export interface ReferenceTrial { key: string; node: string | null; block: number; of_drift: boolean; change: number }
export interface Scenario {
  scenario: string; objective: string; per: string | null; per_one?: string | null; per_many?: string | null; target: string | null; constraint_rules: { name: string; relation: string; bound: number }[]; search: Search | null; best: string | null; reference: string | null; points: Point[]; pareto_front: string[];
  sentence?: string; gain_of_best: Change | null; how_sure?: string; question?: string; axis_effects?: AxisEffect[]; by_slowdown: { from: number; point: string }[]; drift: Drift[]; reference_trials: ReferenceTrial[]; trials: number; counted: number;
  nodes?: NodeOf[]; spread_between_nodes?: { deviation: number | null; low_95: number | null; high_95: number | null };
}
export interface AxisEffect { axis: string; best: string; reference: string; alone_point: string | null; gain_alone: Change | null; without_point: string | null; gain_on_top: Change | null }
export interface NodePoint { point: string; work_energy_j: number | null; work_time_s: number | null; mean_power_w: number | null }
export interface NodeOf {
  node: string; blocks: number; trials: number; best: string | null; best_objective: Estimate | null; gain_of_best: Change | null; agrees: boolean | null;
  points: NodePoint[]; against_others?: { value: number; low_95: number | null; high_95: number | null; outlying: boolean };
}
export interface Setting {
  axis: string; target: string; requested: string; applied: string | null; delivered: number | null; delivered_low: number | null;
  delivered_high: number | null; as_requested: boolean | null;
}
export interface Trial {
  trial: number; key: string; node: string | null; scenario: string; point: string; workload: string; reference: boolean; role: string; attempt: number; block: number;
  position: number; started_at: string; outcome: string; verdict: string; verdict_text: string; counts: boolean; left_out: string | null; time_s: number | null;
  energy_j: number | null; mean_power_w: number | null; objective: number | null; temperature_c: number | null; settings: Setting[];
  output_tail?: string; error_tail?: string;
}
export interface Noticed { trial: number; key: string; kind: string; message: string }
export interface Recheck {
  session: number; at: string; scenario: string; point: string; verdict: "stands" | "changed" | "not_known"; why: string; blocks: number; trials: number; counted: number;
  saving_before: number | null; saving_before_low: number | null; saving_before_high: number | null; saving: number | null; saving_low: number | null; saving_high: number | null;
  change: number | null; change_low_99: number | null; change_high_99: number | null; question?: string | null;
}
// Of a scenario asked otherwise: what differs from it as it stands in the report.
export interface OtherQuestion { scenario: string; objective: string; reference: string; sentence: string; changes: Partial<Scenario>; points: Partial<Point>[] }
export interface Report {
  experiment: string; description: string; objective: string; per: string | null; energy_source: string | null; created_at: string; tool_version: string;
  planned_trials: number; finished_trials: number; not_counted: Record<string, number>; answer: string[]; answers: { scenario: string; sentence: string }[];
  unfinished: string; asked?: string[]; notes: string[]; warnings: string[]; noticed: Noticed[]; sensors: string[]; constraint_rules: { name: string; relation: string; bound: number }[];
  axes: { name: string; kind: string }[]; scenarios: Scenario[]; trials: Trial[]; machine: Record<string, string>;
  other_questions?: OtherQuestion[]; rechecks?: Recheck[]; nodes?: { node: string }[]; node_facts?: { node: string; name: string; value: string }[];
  sensor_audit: Record<string, string | number | null>[]; sessions: Record<string, string | null>[];
  approach: { trial: number; name: string; value: number; after_s: number; energy_j: number; energy_half_width_j: number | null }[];
  experiment_file: { name: string; text: string; seed: string; plan_hash: string } | null;
}
export interface TraceGroup { name: string; unit: string; step: boolean }
export interface TrialTrace {
  from_s: number; to_s: number;                        // seconds from the launch
  regions: [string, number, number, boolean][];        // name, from, to, counts
  throttled: [string, number, number][];               // what held the clocks down, from, to
  whole: boolean;                                      // every reading is there; else the least and the most of each stretch
  parts: [number, number, number, number][];           // index of the group, number of samples, least and most of its values
  at: number;                                          // where its samples begin: values, then times, each as low bytes and high bytes
}
export interface Traces { groups: TraceGroup[]; trials: Record<string, TrialTrace>; left_out: number }

// Run again to see whether the answer stands: apart from the night.
export const ofRecheck = (trial: Trial): boolean => trial.left_out === "it is of a recheck";
// Where not all settings count in the same blocks their means do not compare: then what is left once the blocks' level is taken out.
export const levelled = (scenario: Scenario): boolean => scenario.points.some((p) => p.energy_level_j !== null || p.time_level_s !== null);
export const withoutBlocks = ", with the blocks' level taken out";
export const energyOf = (p: Point): number | null => p.energy_level_j ?? p.work_energy_j?.mean ?? null;
export const timeOf = (p: Point): number | null => p.time_level_s ?? p.work_time_s?.mean ?? null;
// " per sample", or nothing where the objective is of a run.
export const perOne = (scenario: Scenario): string => (scenario.per_one ?? scenario.per ? ` per ${scenario.per_one ?? scenario.per}` : "");

// What is small is JSON as it is; what is large is gzip in base64, which the browser unpacks.
async function bytesOf(element: HTMLElement): Promise<ArrayBuffer> {
  const text = atob(element.textContent!), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
export async function load<T>(id: string): Promise<T> {
  const element = document.getElementById(id)!;
  return JSON.parse(element.getAttribute("type") === "application/gzip" ? new TextDecoder().decode(await bytesOf(element)) : element.textContent!) as T;
}
export interface AllTraces extends Traces { samples: Uint8Array }
export async function loadTraces(): Promise<AllTraces> {
  const samples = document.getElementById("samples");
  return { ...await load<Traces>("traces"), samples: samples?.getAttribute("type") === "application/gzip" ? new Uint8Array(await bytesOf(samples)) : new Uint8Array() };
}
