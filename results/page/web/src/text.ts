// Numbers and foreign text as people read them.

// Control characters and those that turn the direction of writing, shown as what they are: a name or a program's output
// must not look like something else.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd]/g;
export function printable(text: string): string {
  return text.replace(hidden, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export function significant(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "\u2014";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size < -4 || size > 8 ? value.toExponential(digits - 1) : value.toFixed(Math.max(0, digits - 1 - size));
}
// Without zeros that only fill up: labels and counts.
export const plain = (value: number, digits = 5): string => (Number.isInteger(value) && Math.abs(value) < 1e9 ? String(value) : String(Number(significant(value, digits))));
export const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`;
export const dash = "\u2014";

// As results/report/amounts.cpp writes them: SI prefixes, as many digits as the interval knows.
function prefix(size: number, unit: string): [number, string] {
  if (!["J", "W", "Hz", "B", "s"].includes(unit) || !Number.isFinite(size) || size === 0 || (size >= 0.1 && size < 10000)) return [1, ""];
  if (size >= 10000) return unit === "s" ? [1, ""] : ([[1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]] as [number, string][]).find(([factor]) => size < 1000 * factor) ?? [1e12, "T"];
  return ([[1e-3, "m"], [1e-6, "u"], [1e-9, "n"], [1e-12, "p"], [1e-15, "f"]] as [number, string][]).find(([factor]) => size >= factor) ?? [1e-15, "f"];
}
function decimalsFor(value: number, digits: number): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  const place = (v: number): number => Math.floor(Math.log10(Math.abs(v)));
  const first = digits - 1 - place(value);
  return digits - 1 - place(Math.round(value * 10 ** first) / 10 ** first);
}
const rounded = (value: number, decimals: number): string => (decimals >= 0 ? value.toFixed(Math.min(100, decimals)) : (Math.round(value / 10 ** -decimals) * 10 ** -decimals || 0).toFixed(0));
// As C++ writes exponents: two digits at least.
const exponential = (value: number, digits: number): string => value.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2");
export function amount(value: number, unit: string): string {
  const [factor, symbol] = prefix(Math.abs(value), unit);
  const shown = value / factor, size = Math.abs(shown);
  const text = shown !== 0 && (size < 1e-4 || size >= 1e9) ? exponential(shown, 3) : rounded(shown, Math.max(0, decimalsFor(shown, 4)));
  return `${text} ${symbol}${unit}`.trim();
}
export function withInterval(estimate: { mean: number; half_width_95: number | null } | null, unit: string): string {
  if (!estimate) return dash;
  if (estimate.half_width_95 === null) return amount(estimate.mean, unit);
  const size = Math.abs(estimate.mean), [factor, symbol] = prefix(Math.max(size, estimate.half_width_95), unit);
  const mean = estimate.mean / factor, half = estimate.half_width_95 / factor;
  if (size !== 0 && (Math.abs(mean) < 1e-4 || Math.abs(mean) >= 1e9)) return `${exponential(mean, 3)} \u00b1 ${exponential(half, 1)} ${symbol}${unit}`.trim();
  let decimals = mean === 0 ? 4 : half === 0 ? Math.max(0, decimalsFor(mean, 4)) : decimalsFor(mean, 6);
  if (half > 0) decimals = Math.min(decimals, decimalsFor(half, 2));
  const width = rounded(half, decimals);
  return `${rounded(mean, decimals)} \u00b1 ${half > 0 && Number(width) === 0 ? `<${rounded(10 ** -decimals, decimals)}` : width} ${symbol}${unit}`.trim();
}
export function changeText(change: { value: number; low_95: number | null; high_95: number | null } | null): string {
  if (!change) return dash;
  const interval = change.low_95 === null || change.high_95 === null ? "" : ` [${(100 * change.low_95).toFixed(1)}, ${(100 * change.high_95).toFixed(1)}]`;
  return percent(change.value) + interval;
}

// RFC 4180; what a spreadsheet would run as a formula gets a leading quote mark.
export function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
