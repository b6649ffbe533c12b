// @ts-check
// What puts a hit above another, in parts that sum to the difference of the scores that are shown.

import { clearMessage, element, fill, isolated, isolatedList, plain, rounded, signed } from "./dom.js";
import { post } from "./api.js";

const SHOWN_PARTS = 12; // of a difference
const SMALLEST = 0.0005; // part of a difference with a row of its own
const ROUNDING = 0.002; // most that four rounded numbers differ by

/** @typedef {import("./hit.js").Asked} Asked */
/** @typedef {{partners: {text: string}[]}} Share */
/** @typedef {{kind: string, text: string, a: Share, b: Share, difference: number}} Part */

/**
 * Parts rounded so that they sum to the rounded whole: what rounding leaves goes to the largest.
 * @param {number[]} values
 * @param {number} whole
 * @param {number} [digits]
 */
function roundedParts(values, whole, digits = 3) {
  const unit = 10 ** digits;
  const rounded = values.map((value) => Math.round(value * unit));
  const left = Math.round(whole * unit) - rounded.reduce((sum, each) => sum + each, 0);
  const largest = values.reduce((best, value, i) => (Math.abs(value) > Math.abs(values[best]) ? i : best), 0);
  if (rounded.length) rounded[largest] += left;
  return rounded.map((each) => each / unit);
}

/**
 * Show what puts a hit above another.
 * @param {HTMLElement} box
 * @param {any} a
 * @param {any} b
 * @param {Asked} asked
 */
export async function showDifference(box, a, b, asked) {
  const { query, collection, measure } = asked;
  const mode = a.lexical ? "hybrid" : "vector";
  const body = { query, a: a.id, b: b.id, collection, measure, mode, format: "json" };
  /** @type {{difference: number, parts: Part[]}} */
  const found = asked.lexical ? byTerms(a, b) : await post("explain/difference", body);
  clearMessage();
  const own = found.parts.slice(0, SHOWN_PARTS).filter((part) => Math.abs(part.difference) >= SMALLEST);
  const rest = found.parts.slice(own.length).reduce((sum, part) => sum + part.difference, 0);
  const none = { partners: [] };
  const parts = [...own];
  if (Math.abs(rest) >= SMALLEST)
    parts.push({ kind: "rest", text: "all other parts", a: none, b: none, difference: rest });
  const whole = wholeDifference(found.difference, asked.lexical, a, b);
  const values = roundedParts(
    parts.map((part) => part.difference),
    whole,
  );
  const largest = Math.max(...values.map(Math.abs), 1e-9);
  const rows = parts.map((part, i) => differenceRow(part, values[i], largest));
  const place = whole < 0 ? "below" : "above";
  const heads = ["Of the query", ["In ", isolated(a.id)], ["In ", isolated(b.id)], "Difference"];
  fill(
    box,
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": `Why ${a.id} above ${b.id}` },
      element(
        "table",
        { class: "difference" },
        element(
          "caption",
          {},
          isolated(a.id),
          ` is ${plain(Math.abs(whole))} ${place} `,
          isolated(b.id),
          rows.length ? "; these parts sum to it." : ": equal scores stand in the order of their ids.",
        ),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            heads.map((name) => element("th", { scope: "col" }, name)),
            element("td"),
          ),
        ),
        element("tbody", {}, rows),
      ),
    ),
  );
}

/**
 * Show the terms that a score by BM25 is the sum of.
 * @param {HTMLElement} box
 * @param {any} hit
 */
export function showTerms(box, { id, lexical }) {
  /** @type {{term: string, score: number}[]} */
  const terms = lexical.terms;
  const values = roundedParts(
    terms.map((each) => each.score),
    lexical.score,
  );
  const rows = terms.map(({ term }, i) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, "term ", isolated(term)),
      element("td", { class: "number" }, element("data", { value: values[i] }, signed(values[i]))),
    ),
  );
  const caption = element("caption", {}, "The terms of ", isolated(id), ` sum to ${plain(lexical.score)}.`);
  fill(box, element("table", {}, caption, element("tbody", {}, rows)));
}

/**
 * @param {Part} part
 * @param {number} shown its difference, rounded
 * @param {number} largest
 */
function differenceRow(part, shown, largest) {
  const bar = element("span", { class: `delta ${shown < 0 ? "negative" : "positive"}` });
  bar.style.width = `${(100 * Math.abs(shown)) / largest}%`;
  const words = (/** @type {Share} */ share) => isolatedList(share.partners.map((each) => each.text));
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, part.kind === "term" ? "term " : null, isolated(part.text)),
    element("td", {}, words(part.a)),
    element("td", {}, words(part.b)),
    element("td", { class: "number" }, element("data", { value: shown }, signed(shown))),
    element("td", { class: "delta-cell", "aria-hidden": "true" }, bar),
  );
}

/**
 * The difference of two hits that are ordered by their terms alone.
 * @param {any} a
 * @param {any} b
 */
function byTerms(a, b) {
  const termOf = (/** @type {any} */ hit, /** @type {string} */ term) =>
    hit.lexical.terms.find((/** @type {any} */ each) => each.term === term) ?? { score: 0, spans: [] };
  const share = (/** @type {any} */ hit, /** @type {string} */ term) => ({
    partners: termOf(hit, term).spans.map((/** @type {[number, number]} */ [start, end]) => ({
      text: Array.from(hit.text)
        .slice(start - hit.start, end - hit.start)
        .join(""),
    })),
  });
  const terms = new Set([a, b].flatMap((hit) => hit.lexical.terms.map((/** @type {any} */ each) => each.term)));
  const parts = [...terms]
    .map((term) => ({
      kind: "term",
      text: term,
      a: share(a, term),
      b: share(b, term),
      difference: termOf(a, term).score - termOf(b, term).score,
    }))
    .sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference));
  return { difference: a.lexical.score - b.lexical.score, parts };
}

/**
 * A difference as it is shown: that of the scores that are shown, if only their rounding tells them from it.
 * @param {number} difference
 * @param {boolean} lexical
 * @param {any} a
 * @param {any} b
 */
function wholeDifference(difference, lexical, a, b) {
  const shown = (/** @type {any} */ hit) =>
    lexical ? rounded(hit.lexical.score) : rounded(hit.score) + rounded(hit.lexical?.bonus ?? 0);
  const ofShown = rounded(shown(a) - shown(b));
  return Math.abs(ofShown - difference) <= ROUNDING ? ofShown : rounded(difference);
}
