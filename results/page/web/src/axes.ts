// How the values of an axis are shown: numbers in the unit that the experiment's own words use, or words.
import type { Scenario, Settings, Values } from "./model";
import { printable, significant } from "./text";

export interface Axis { name: string; numeric: boolean; unit: string; factor: number }
interface Placed { settings: Settings; values: Values }

export function axesOf(scenario: Scenario): Axis[] {
  const points: Placed[] = scenario.search && scenario.search.model.length > 0 ? scenario.search.model : scenario.points;
  const names = [...new Set(points.flatMap((p) => Object.keys(p.settings)))];
  return names
    .map((name) => axisOf(name, points))
    .filter((axis) => new Set(points.map((p) => p.settings[axis.name])).size > 1);
}

function axisOf(name: string, points: Placed[]): Axis {
  const numeric = points.every((p) => !(name in p.settings) || p.values[name] !== null);
  let unit = "", factor = 1, largest = -Infinity;
  for (const point of points) {
    const match = /^([-+.\deE]+)\s*([^\d\s.+-]\S*)$/.exec(point.settings[name] ?? "");
    const value = point.values[name];
    if (!match || value === null || value === undefined || value <= largest || Number(match[1]) === 0) continue;
    largest = value;
    unit = match[2]!;
    factor = value / Number(match[1]);
  }
  return { name, numeric, unit, factor };
}

export const axisTitle = (axis: Axis): string => (printable(axis.unit ? `${axis.name} (${axis.unit})` : axis.name));
export const inUnit = (axis: Axis, value: number): number => value / axis.factor;
export const unitText = (axis: Axis, value: number): string => `${significant(inUnit(axis, value))} ${axis.unit}`.trim();

// The values of an axis in order: numbers by size, words as they come.
export function orderedTexts(axis: Axis, points: Placed[]): string[] {
  const seen = new Map<string, number>();
  for (const p of points) if (axis.name in p.settings) seen.set(p.settings[axis.name]!, p.values[axis.name] ?? NaN);
  const texts = [...seen.keys()];
  return axis.numeric ? texts.sort((a, b) => seen.get(a)! - seen.get(b)!) : texts;
}

// What a point is on all axes but those named.
export const otherSettings = (point: Placed, axes: Axis[], but: string[]): string =>
  axes.filter((a) => !but.includes(a.name) && a.name in point.settings).map((a) => printable(`${a.name} = ${point.settings[a.name]}`)).join(", ");
