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

export function withInterval(estimate: { mean: number; half_width_95: number | null } | null, unit: string): string {
  if (!estimate) return dash;
  const text = `${significant(estimate.mean)} ${unit}`.trim();
  if (estimate.half_width_95 === null) return text;
  return Math.abs(estimate.half_width_95) < Math.abs(estimate.mean)
    ? `${text} \u00b1${percent(estimate.half_width_95 / Math.abs(estimate.mean))}`
    : `${text} \u00b1${significant(estimate.half_width_95, 2)} ${unit}`;
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
