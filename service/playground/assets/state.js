// @ts-check
// What is shown, in the fragment of the address: a copied link opens the same, and no server gets to see it.

import { byId } from "./dom.js";

/** @typedef {Record<string, string>} State */

const SAID_MS = 1500;
/** The collection that was shown last, in whichever tab. */
export const last = { collection: "" };
/** @type {WeakMap<HTMLElement, {name: string | null, timer: number}>} buttons that say what became of a copy */
const asked = new WeakMap();

/**
 * Tab and fields of the address.
 * @returns {{tab: string, fields: State}}
 */
export function readState() {
  const [tab, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  return { tab, fields: Object.fromEntries(new URLSearchParams(query)) };
}

/**
 * Show a tab and fields in the address, without an entry of the history for every letter; a tab that was left meanwhile
 * must not replace the address of another.
 * @param {string} tab
 * @param {State} fields
 */
export function writeState(tab, fields) {
  if (!byId(`${tab}-panel`).hidden) history.replaceState(null, "", hashOf(tab, fields));
}

/**
 * The fragment of a tab with some fields; empty ones are left out.
 * @param {string} tab
 * @param {State} fields
 */
export function hashOf(tab, fields) {
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== "")).toString();
  return query ? `#${tab}?${query}` : `#${tab}`;
}

/**
 * Put something on the clipboard, and say so for a moment on the button that asked for it.
 * @param {string} text
 * @param {HTMLElement} button
 */
export async function copy(text, button) {
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "Could not copy";
  }
  const before = asked.get(button);
  clearTimeout(before?.timer);
  const name = before ? before.name : button.textContent;
  button.textContent = said;
  const timer = setTimeout(() => {
    button.textContent = name;
    asked.delete(button);
  }, SAID_MS);
  asked.set(button, { name, timer });
}
