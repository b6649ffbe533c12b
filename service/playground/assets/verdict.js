// @ts-check
// The verdict on two texts in one line: the same, different or unsure, and what speaks against it.

import { element, isolated } from "./dom.js";

/** @typedef {{start: number, end: number, text: string}[]} Places */
/** @typedef {{kind: string, log_odds: number, a: Places, b: Places}} Reason */
/** @typedef {{verdict: string, unsure: string | null, log_odds: number | null, reasons: Reason[]}} Verdict */
/** @typedef {{a: string, b: string}} Sides what the places in both texts are called, such as "in the first text" */

const MAX_REASONS = 3;
const SURELY_TO = -4; // log-odds above which a pair is perhaps different
const MAIN_SHARE = 0.1; // of the heaviest reason
const MAX_GAP = 2; // characters between neighbors
const MAX_CHARS = 40; // of the words of a reason
/** @type {Record<string, string>} */
const UNSURE = {
  close_call: "a close call",
  language: "a language that the classifier does not read",
  long_text: "longer than the model reads at once",
  no_words: "a text without words",
  unread_text: "signs that the model does not read",
};

/**
 * @param {Verdict | null | undefined} same
 * @param {Sides} sides
 */
export function verdictLine(same, sides) {
  if (!same) return null;
  const { unsure, reasons } = same;
  const main = reasons.filter((each) => each.log_odds <= MAIN_SHARE * reasons[0].log_odds);
  const shown = main.slice(0, MAX_REASONS).map((reason) => reasonText(reason, sides));
  if (main.length > MAX_REASONS) shown.push([`${main.length - MAX_REASONS} more`]);
  if (unsure && !shown.length) shown.push([UNSURE[unsure]]);
  return element(
    "p",
    { class: "verdict", data: { verdict: same.verdict } },
    element("strong", {}, shown.length ? `${saying(same)}: ` : saying(same)),
    shown.flatMap((each, i) => (i ? ["; ", ...each] : each)),
  );
}

/** @param {Verdict} same */
function saying({ verdict, log_odds: logOdds, reasons }) {
  if (verdict === "same") return reasons.length ? "Same, apart from" : "Same";
  if (verdict !== "different") return "Unsure";
  return logOdds !== null && logOdds > SURELY_TO ? "Perhaps different" : "Different";
}

/**
 * @param {Reason} reason
 * @param {Sides} sides
 */
function reasonText({ kind, a, b }, sides) {
  const [inA, inB] = [a, b].map((places) => isolated(shortened(joined(places))));
  if (a.length && b.length) return [kind === "replaced" ? "" : `${kind} `, inA, " / ", inB];
  const side = a.length ? sides.a : sides.b;
  return kind === "negation" ? [`negation ${side}`] : [`only ${side}: `, a.length ? inA : inB];
}

/**
 * The words of some places in one text, with an ellipsis where others are left out.
 * @param {Places} places
 */
const joined = (places) =>
  places.map(({ text, start }, i) => (i ? (start - places[i - 1].end <= MAX_GAP ? " " : " … ") : "") + text).join("");

/** @param {string} words */
function shortened(words) {
  const points = Array.from(words);
  return points.length <= MAX_CHARS ? words : `${points.slice(0, MAX_CHARS - 1).join("")}…`;
}
