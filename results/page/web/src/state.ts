// What is chosen on the page is kept in its address: a link to it shows the same again (#work=lstm&slowdown=0.05&theme=dark).
const read = (): URLSearchParams => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
let chosen = read();

export type Chosen = "work" | "objective" | "reference" | "slowdown" | "theme" | "runs" | "price";
export const get = (name: Chosen): string | null => chosen.get(name);
export function set(name: Chosen, value: string | null): void {
  if (value === null) chosen.delete(name);
  else chosen.set(name, value);
  write();
}
export function numberOf(name: Chosen): number | null {
  const text = get(name), value = Number(text);
  return text !== null && text.trim() !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}
// The address of this page with another value of `name`.
export function linkTo(name: Chosen, value: string): string {
  const other = new URLSearchParams(chosen);
  if (name === "work") other.delete("reference");
  other.set(name, value);
  return `#${other.toString()}`;
}
function write(): void {
  const text = chosen.toString();
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // Some browsers refuse this on a page from a file: it then has no link of its own.
  }
}
// A link to a section takes the address over; what was chosen is written again. Another address is another choice.
export function followTheAddress(changed: () => void): void {
  addEventListener("hashchange", () => {
    if (location.hash.length > 1 && !location.hash.includes("=")) return write();
    chosen = read();
    document.dispatchEvent(new Event("addressread"));
    changed();
  });
}
