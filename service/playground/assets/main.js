// @ts-check
// The page: its tabs, the address, the key, and messages.

import { Refused, get, keyInUse, loaded, useKey, whenKeyNeeded } from "./api.js";
import { byId, clearMessage, fill } from "./dom.js";
import { Compare } from "./compare.js";
import { hashOf, readState } from "./state.js";

const TABS = ["compare", "search", "rerank", "collection"];
/** @type {Record<string, () => Promise<any>>} */
const MAKERS = {
  compare: async () => Compare,
  search: async () => (await import("./search.js")).Search,
  rerank: async () => (await import("./rerank.js")).Rerank,
  collection: async () => (await import("./collection.js")).Collection,
};

/** @type {Map<string, {open: (fields: Record<string, string>) => unknown}>} */
const opened = new Map();
/** @type {any} */
let known = null;

/**
 * Show a tab.
 * @param {string} name
 * @param {Record<string, string>} fields
 */
async function openTab(name, fields) {
  for (const each of TABS) {
    const chosen = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
    byId(`${each}-panel`).hidden = !chosen;
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Semblance`;
  clearMessage();
  known ??= await get("models");
  if (!opened.has(name)) {
    const Tab = await loaded(MAKERS[name]());
    opened.set(name, new Tab(byId(`${name}-panel`), known));
  }
  await opened.get(name)?.open(fields);
}

function follow() {
  const { tab, fields } = readState();
  return openTab(TABS.includes(tab) ? tab : TABS[0], fields);
}

/** @param {unknown} error */
function tell(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const words = error instanceof Refused ? error.message : "Something on this page failed: reload it.";
  fill(byId("message"), words);
  if (!(error instanceof Refused)) console.error(error);
}

/** Show nothing of what another key was allowed to see. */
function startAgain() {
  known = null;
  opened.clear();
  for (const each of TABS) fill(byId(`${each}-panel`));
  return follow();
}

function askForKey() {
  byId("key-form").hidden = false;
  byId("key").focus();
}

function start() {
  whenKeyNeeded(askForKey);
  window.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    tell(event.reason);
  });
  window.addEventListener("hashchange", follow);
  for (const [i, name] of TABS.entries()) {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => {
      if (byId(`${name}-panel`).hidden) history.pushState(null, "", hashOf(name, {}));
      return openTab(name, {});
    });
    tab.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = byId(`tab-${TABS[(i + step + TABS.length) % TABS.length]}`);
      next.focus();
      next.click();
    });
  }
  byId("key-button").addEventListener("click", () =>
    byId("key-form").hidden ? askForKey() : (byId("key-form").hidden = true),
  );
  byId("key-form").addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    useKey(byId("key").value.trim());
    byId("key").value = "";
    byId("key-form").hidden = Boolean(keyInUse());
    return startAgain();
  });
  byId("forget-key").addEventListener("click", () => {
    useKey("");
    return startAgain();
  });
  get("").then(
    ({ version }) => fill(byId("version"), `Semblance ${version}`),
    () => {}, // the page says what fails where it is needed
  );
  return follow();
}

start();
