// @ts-check
// What became of rows that are not stored as they are: one sentence for each reason, with the places.

import { counted, element, grouped } from "./dom.js";

/** @typedef {{place: string, detail: string, code?: string}} Problem why a row is not a document, or what is wrong with it */

const SHOWN_PLACES = 5;
const PLACE = /^(.*) (\d+)$/;

/**
 * @param {string} said what became of these rows
 * @param {Problem[]} problems
 */
export function problemLines(said, problems) {
  /** @type {Map<string, Problem[]>} */
  const reasons = new Map();
  for (const each of problems.map(plainProblem)) {
    const reason = `${each.code} ${each.detail.replace(/\d+/g, "")}`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), each]);
  }
  return [...reasons.values()].map((alike) => element("p", { class: "notice" }, sentence(said, alike)));
}

/**
 * A problem in words of the page, which does not name its place twice.
 * @param {Problem} problem
 * @returns {Problem}
 */
function plainProblem({ place, detail, code }) {
  const own = place && detail.startsWith(place) ? detail.slice(place.length).replace(/^[:,]? /, "") : detail;
  const words = own
    .replace(/name (one|another) \(--text-field, text_fields\)/, "choose $1 under “Text”")
    .replace(/name (one|another) \(--id-field, id_field\)/, "choose $1 under “Id”");
  return { place, detail: words, code };
}

/**
 * @param {string} said
 * @param {Problem[]} alike
 */
function sentence(said, alike) {
  const [{ place, detail, code }] = alike;
  if (!place) return detail; // of the whole file, which it names
  const noun = PLACE.test(place) ? "row" : "file";
  const [without, why] = code === "empty_text" ? [" without text", ""] : ["", detail && `: ${detail}`];
  return `${counted(alike.length, noun)}${without} ${said}${why} (${places(alike.map((each) => each.place))})`;
}

/**
 * The first places, such as “rows 25, 51 and 3 more”.
 * @param {string[]} all
 */
function places(all) {
  const [, unit = ""] = PLACE.exec(all[0]) ?? [];
  const isCommon = /^[a-z]+$/.test(unit) && all.every((each) => PLACE.exec(each)?.[1] === unit);
  const shown = all.slice(0, SHOWN_PLACES).map((each) => (isCommon ? each.slice(unit.length + 1) : each));
  const more = all.length > shown.length ? ` and ${grouped(all.length - shown.length)} more` : "";
  return `${isCommon ? `${unit}${all.length > 1 ? "s" : ""} ` : ""}${shown.join(", ")}${more}`;
}
