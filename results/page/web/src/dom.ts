// Elements from text only: nothing that the result file holds is ever parsed as HTML.
import { printable } from "./text";

export type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(typeof child === "string" ? printable(child) : child);
  return element;
}

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
}

// A labelled choice; `changed` gets the index.
export function choice(label: string, options: string[], chosen: number, changed: (index: number) => void): HTMLElement {
  const select = el("select", { "aria-label": label });
  options.forEach((option, i) => select.append(el("option", { value: i, selected: i === chosen }, option)));
  select.addEventListener("change", () => changed(select.selectedIndex));
  return el("label", { class: "choice" }, `${label} `, select);
}

export const replaceWith = (place: HTMLElement, ...children: Child[]): void => place.replaceChildren(...children.filter((c): c is Node => c instanceof Node));
