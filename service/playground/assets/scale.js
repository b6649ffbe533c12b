// @ts-check
// What a score is usual for, by the middle 80 % of the scores of random, related and equivalent texts.

import { element, plain } from "./dom.js";

/** @typedef {{measure: string, random: [number, number], related: [number, number], paraphrases: [number, number]}} Typical */

/**
 * The typical scores of a measure by a model, if they are known.
 * @param {any} known answer of GET /models
 * @param {string} model
 * @param {string} measure
 * @returns {Typical | undefined}
 */
export const typicalOf = (known, model, measure) =>
  known.models
    .find((/** @type {any} */ each) => each.name === model)
    ?.typical.find((/** @type {Typical} */ each) => each.measure === measure);

/**
 * A score in words: the kinds of pairs that it is usual for, or between which it lies. A pair that does not say the same
 * by its verdict is at best worded like a paraphrase.
 * @param {number} score
 * @param {Typical} typical
 * @param {import("./verdict.js").Verdict | null} [same]
 */
export function kindOf(score, { random, related, paraphrases }, same) {
  /** @type {[string, [number, number]][]} */
  const kinds = [
    ["unrelated", random],
    ["related", related],
    [same && same.verdict !== "same" ? "worded like a paraphrase" : "a paraphrase", paraphrases],
  ];
  const usual = kinds.filter(([, [from, to]]) => from <= score && score <= to).map(([name]) => name);
  if (usual.length) return usual.join(" or ");
  const above = kinds.filter(([, [from]]) => score < from)[0];
  const below = kinds.filter(([, [, to]]) => score > to).at(-1);
  return above && below ? `between ${below[0]} and ${above[0]}` : (above ?? below ?? kinds[0])[0];
}

/**
 * A score in words, with the scale that they stand for.
 * @param {number} score
 * @param {Typical | undefined} typical
 * @param {import("./verdict.js").Verdict | null} [same]
 */
export function scaleLine(score, typical, same) {
  if (!typical) return null;
  const [reach, begin] = [typical.random[1], typical.paraphrases[0]].map((each) => plain(each, 2));
  return element(
    "span",
    { class: "scale", title: "The middle 80 % of pairs of each kind, by this model and measure" },
    element("strong", {}, kindOf(score, typical, same)),
    element("span", { class: "faint" }, `; unrelated pairs reach ${reach}, paraphrases begin at ${begin}`),
  );
}
