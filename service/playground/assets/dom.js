// @ts-check
// Elements of the page. Texts of users become text nodes only: nothing here, or elsewhere, parses HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with properties, attributes and children. `on` names listeners, `data` its data attributes; null leaves
 * out.
 * @param {string} name
 * @param {Record<string, any>} [options]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  fill(made, ...children);
  return made;
}

/**
 * A text of a user among words of the page, which it cannot reorder whatever its direction is.
 * @param {string} text
 */
export const isolated = (text) => element("bdi", {}, text.replace(/[\u202a-\u202e\u2066-\u2069]/g, ""));

/**
 * Texts of users one after another.
 * @param {string[]} texts
 * @param {string} [between]
 */
export const isolatedList = (texts, between = ", ") =>
  texts.flatMap((text, i) => (i ? [between, isolated(text)] : [isolated(text)]));

/**
 * Replace the children of a node.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  const nodes = children.flat().filter((each) => each !== null && each !== undefined && each !== false);
  parent.replaceChildren(...nodes.map((each) => (each instanceof Node ? each : String(each))));
}

/**
 * Replace the children of a node by a newer version of them: whoever walks through them by keyboard keeps the place.
 * @param {Element} parent
 * @param {Child[]} children
 */
export function redraw(parent, children) {
  const places = () =>
    /** @type {HTMLElement[]} */ ([...parent.querySelectorAll("[tabindex], a, button, select, summary")]);
  const at = places().findIndex((each) => each === document.activeElement);
  fill(parent, children);
  places()[at]?.focus();
}

/**
 * The element with this id.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/** What the fields of requests are called on the page, where it has another word for them. */
const LABELS = new Map(
  Object.entries({
    a: "First text",
    b: "Second text",
    color: "Color by",
    k: "Hits",
    min_score: "Least similarity",
    mode: "Find by",
    name: "Into the collection",
  }),
);

/**
 * The label of the field that a JSON pointer names, such as “Document 4” for /documents/3/text.
 * @param {string} pointer
 */
function labelOf(pointer) {
  const [, name = "", place] = pointer.split("/");
  if (name === "documents" && place) return `Document ${Number(place) + 1}`;
  return LABELS.get(name) ?? `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;
}

/**
 * A message of the service, with labels of the page in place of the pointers that begin its parts.
 * @param {string} message
 */
export const withLabels = (message) =>
  message.replace(/(^|\s)(\/[a-z_]+(?:\/[^\s:]+)*): /g, (_, before, pointer) => `${before}${labelOf(pointer)}: `);

/**
 * Warnings of an answer: parts of a request that may not do what is expected.
 * @param {{pointer: string, detail: string}[]} warnings
 */
export const notices = (warnings) =>
  warnings.map(({ pointer, detail }) =>
    element("p", { class: "notice" }, `${labelOf(pointer)}: `, ...withCode(detail), "."),
  );

/**
 * A text with what is between grave accents as code.
 * @param {string} text
 */
const withCode = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

/**
 * A labeled field; the label names it for everybody.
 * @param {string} label
 * @param {HTMLElement} field
 * @param {string} [kind]
 */
export function labeled(label, field, kind = "field") {
  return element("label", { class: kind }, element("span", {}, label), field);
}

/**
 * A menu of choices: pairs of value and name.
 * @param {[string, string][]} choices
 * @param {string} chosen
 * @param {Record<string, any>} [options]
 */
export function menu(choices, chosen, options = {}) {
  const made = element("select", options);
  setChoices(made, choices, chosen);
  return made;
}

/**
 * Choices of a menu: the models of a kind.
 * @param {any} known answer of GET /models
 * @param {"encoder" | "reranker"} kind
 * @returns {[string, string][]}
 */
export const modelsOf = (known, kind) =>
  known.models
    .filter((/** @type {any} */ each) => each.kind === kind)
    .map((/** @type {any} */ each) => [each.name, each.name]);

/**
 * Replace the choices of a menu.
 * @param {HTMLSelectElement} select
 * @param {[string, string][]} choices
 * @param {string} chosen
 */
export function setChoices(select, choices, chosen) {
  fill(
    select,
    choices.map(([value, name]) => element("option", { value }, name)),
  );
  choose(select, chosen, choices[0]?.[0] ?? "");
}

/**
 * Choose a value of a menu, or another where the menu does not have it.
 * @param {HTMLSelectElement} select
 * @param {string | undefined} value
 * @param {string} otherwise
 */
export function choose(select, value, otherwise) {
  select.value = [...select.options].some((each) => each.value === value) ? String(value) : otherwise;
}

/**
 * A button that acts.
 * @param {string} name
 * @param {(event: Event) => unknown} act
 * @param {Record<string, any>} [options]
 */
export function button(name, act, options = {}) {
  return element("button", { type: "button", on: { click: act }, ...options }, name);
}

/**
 * Say something to users of screen readers.
 * @param {string} words
 */
export function announce(words) {
  byId("status").textContent = words;
}

/** Remove the message of an error, which no longer holds. */
export const clearMessage = () => fill(byId("message"));

/**
 * Call `act` once, some time after the last of several calls.
 * @param {() => unknown} act
 * @param {number} milliseconds
 */
export function debounced(act, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

/**
 * A number with its sign, for contributions.
 * @param {number} value
 * @param {number} [digits]
 */
export function signed(value, digits = 3) {
  const shown = Math.abs(value).toFixed(digits);
  return Number(shown) === 0 ? shown : `${value < 0 ? "−" : "+"}${shown}`;
}

/**
 * A number without a sign unless it is negative.
 * @param {number} value
 * @param {number} [digits]
 */
export function plain(value, digits = 3) {
  return value.toFixed(digits).replace("-", "−");
}

/**
 * A number as `plain` shows it, by which sums of shown numbers hold.
 * @param {number} value
 */
export const rounded = (value) => Number(value.toFixed(3));

/** @param {number} value */
export const grouped = (value) => value.toLocaleString("en-US");

/**
 * A number of things.
 * @param {number} count
 * @param {string} noun whose plural ends in s
 */
export const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/**
 * A value of metadata, as it is shown.
 * @param {unknown} value
 * @param {number} [digits] of a number that is not whole
 * @returns {string}
 */
export function shownValue(value, digits = 10) {
  if (value === null || value === undefined) return "none";
  if (value === "") return "(empty)";
  if (typeof value === "number") {
    const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(digits));
    return String(rounded).replace(/^-/, "−");
  }
  if (Array.isArray(value)) return value.map((each) => shownValue(each)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * A text of at most some characters, cut after a word.
 * @param {string} text
 * @param {number} most
 */
export function beginning(text, most) {
  const points = Array.from(text);
  if (points.length <= most) return text;
  const cut = points.slice(0, most + 1).join("");
  const words = cut.replace(/\s+\S*$/u, "");
  const inWord = words === cut || words.length < cut.length / 2; // such as in a script without spaces
  return `${inWord ? points.slice(0, most).join("") : words} …`;
}
