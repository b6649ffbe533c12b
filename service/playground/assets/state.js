// @ts-check
// What is shown, in the fragment of the address: a copied link opens the same, and no server gets to see it.

/** @typedef {Record<string, string>} State */

/**
 * Tab and fields of the address.
 * @returns {{tab: string, fields: State}}
 */
export function readState() {
  const [tab, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  return { tab, fields: Object.fromEntries(new URLSearchParams(query)) };
}

/**
 * Show a tab and fields in the address, without an entry of the history for every letter.
 * @param {string} tab
 * @param {State} fields
 */
export function writeState(tab, fields) {
  history.replaceState(null, "", hashOf(tab, fields));
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
 * Put something on the clipboard, and say so on the button that asked for it.
 * @param {string} text
 * @param {HTMLElement} asked
 */
export async function copy(text, asked) {
  const name = asked.textContent;
  try {
    await navigator.clipboard.writeText(text);
    asked.textContent = "Copied";
  } catch {
    asked.textContent = "Could not copy";
  }
  setTimeout(() => (asked.textContent = name), 1500);
}
