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
 * Replace the children of a node.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  const nodes = children.flat().filter((each) => each !== null && each !== undefined && each !== false);
  parent.replaceChildren(...nodes.map((each) => (each instanceof Node ? each : String(each))));
}

/**
 * The element with this id.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

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
  select.value = choices.some(([value]) => value === chosen) ? chosen : (choices[0]?.[0] ?? "");
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

/** @param {number} value */
export const grouped = (value) => value.toLocaleString("en-US");
