// @ts-check
// A hit of a search: its title, its number and where that comes from, and its marked sentences.

import { download, send } from "./api.js";
import {
  beginning,
  button,
  counted,
  element,
  isolated,
  isolatedList,
  plain,
  rounded,
  shownValue,
  signed,
} from "./dom.js";
import { showDifference, showTerms } from "./difference.js";
import { kindOf } from "./scale.js";
import { hashOf } from "./state.js";

const TITLES = ["title", "subject", "headline", "question", "name"];
const VALUE_CHARS = 40; // of a metadata value

/**
 * How hits were found: `query` as it was read, `measure` of their scores.
 * @typedef {{query: string, collection: string, measure: string, rerankModel: string | null, lexical: boolean, codes: string[], textFields: string[], typical: import("./scale.js").Typical | undefined}} Asked
 */

/**
 * Hits one after another with the same text, such as rows that a table has twice, as one group.
 * @param {any[]} hits
 */
export function groupsOf(hits) {
  /** @type {any[][]} */
  const groups = [];
  for (const hit of hits) {
    const [first] = groups.at(-1) ?? [];
    if (first?.text === hit.text && haveEqualCodes(first, hit)) groups.at(-1)?.push(hit);
    else groups.push([hit]);
  }
  return groups;
}

/**
 * Whether codes of the query leave open which of two hits comes first.
 * @param {any} one
 * @param {any} other
 */
const haveEqualCodes = ({ lexical: one }, { lexical: other }) =>
  one?.codes === other?.codes && Boolean(one?.code_fields.length) === Boolean(other?.code_fields.length);

/**
 * @param {any[]} group of hits with one text
 * @param {any} next the hit below, if there is one
 * @param {Asked} asked
 */
export function hitCard([hit, ...others], next, asked) {
  const box = element("div");
  const lexical = hit.lexical;
  const title = titleOf(hit, asked.textFields);
  // where terms count for one of both only, or codes or a rerank model order, no route explains the difference
  const isExplained =
    next && !asked.rerankModel && Boolean(lexical) === Boolean(next.lexical) && haveEqualCodes(hit, next);
  const shown = Object.entries(hit.metadata).filter(([field]) => field !== title?.field && field !== hit.field);
  return element(
    "li",
    { class: "card hit" },
    title && element("h2", {}, isolated(title.text)),
    element("p", { class: "hit-head" }, element("span", { class: "id" }, isolated(hit.id)), numbers(hit, asked)),
    snippet(hit),
    element(
      "p",
      { class: "toolbar" },
      whyLink(hit, asked, box),
      asked.lexical
        ? null
        : button("PNG", () => picture(hit, asked), { class: "quiet", "aria-label": `PNG: why ${hit.id}` }),
      isExplained
        ? button(`Why above ${next.id}?`, () => showDifference(box, hit, next, asked), { class: "quiet" })
        : null,
      element("span", { class: "faint metadata" }, metadataText(Object.fromEntries(shown))),
    ),
    others.length ? sameText(others) : null,
    box,
  );
}

/**
 * The other documents with the text of a hit.
 * @param {any[]} hits
 */
const sameText = (hits) =>
  element(
    "details",
    {},
    element("summary", {}, `${counted(hits.length, "more document")} with this text`),
    element(
      "ul",
      {},
      hits.map(({ id, metadata }) => element("li", {}, isolated(id), " ", faint(metadataText(metadata)))),
    ),
  );

/** @param {(string | Node)[]} parts */
const faint = (parts) => element("span", { class: "faint" }, parts);

/**
 * The title of a document: a metadata field of such a name, or else a text field that the hit was not found in.
 * @param {any} hit
 * @param {string[]} textFields
 */
function titleOf({ metadata, field: own }, textFields) {
  const field = [...TITLES, ...textFields].find((each) => each !== own && typeof metadata[each] === "string");
  return field && metadata[field].trim() ? { field, text: metadata[field] } : null;
}

/**
 * What orders a hit: after the score of a rerank model, the number that is explained.
 * @param {any} hit
 * @param {Asked} asked
 */
function numbers({ score, rerank_score: reranked, lexical, probability, field }, asked) {
  const has = (lexical?.terms ?? []).filter((/** @type {any} */ each) => asked.codes.includes(each.term));
  const bonus = lexical?.bonus ? `${signed(lexical.bonus)} for ${counted(lexical.terms.length, "term")}` : "";
  const own = asked.lexical ? `BM25 ${plain(lexical.score)}` : `${asked.measure} ${plain(score)}`;
  return [
    asked.rerankModel && element("strong", {}, ` ${asked.rerankModel} ${plain(reranked)}`),
    element(asked.rerankModel ? "span" : "strong", {}, ` ${own}`),
    asked.typical && !asked.lexical && element("span", {}, ` ${kindOf(score, asked.typical)}`),
    bonus && element("span", { class: "faint" }, ` ${bonus}`),
    bonus && !asked.rerankModel && element("strong", {}, ` = ${plain(rounded(score) + rounded(lexical.bonus))}`),
    has.length > 0 &&
      element("span", { class: "faint" }, ` has ${has.map((/** @type {any} */ each) => each.term).join(", ")}`),
    lexical?.code_fields.length > 0 &&
      element("span", { class: "faint" }, ` has the code as ${lexical.code_fields.join(", ")}`),
    probability !== null &&
      !asked.lexical &&
      element("span", { class: "faint" }, ` same in ${Math.round(100 * probability)} of 100 cases`),
    field && element("span", { class: "faint" }, ` in ${field}`),
  ];
}

/**
 * What opens the reasons of the number of a hit: the same one, by the same measure, of the same passage.
 * @param {any} hit
 * @param {Asked} asked
 * @param {HTMLElement} box where terms are listed
 */
function whyLink(hit, asked, box) {
  if (asked.lexical) return button(`Why ${plain(hit.lexical.score)}?`, () => showTerms(box, hit), { class: "quiet" });
  const { query, collection, measure } = asked;
  const why = hashOf("compare", { a: query, id: hit.id, collection, by: measure });
  return element("a", { class: "button", href: why }, `Why ${plain(hit.score)}?`);
}

/**
 * Save the picture of the reasons of a hit, as Compare has it.
 * @param {any} hit
 * @param {Asked} asked
 */
async function picture({ id }, { query, collection, measure }) {
  const body = { a: query, id, collection, measure, format: "png" };
  const answer = await send("POST", "explain", { body, accept: "image/png" });
  download(await answer.blob(), `${id}.png`);
}

/**
 * The snippet of a hit: words that match by meaning in one color, terms of the query in another.
 * @param {any} hit
 */
export function snippet(hit) {
  const shown = hit.highlight ?? {
    text: hit.text,
    start: hit.start,
    end: hit.end,
    marks: [],
    cut_start: false,
    cut_end: false,
  };
  const points = Array.from(shown.text);
  /** @type {string[]} */
  const kinds = new Array(points.length).fill("");
  const titles = new Array(points.length).fill("");
  for (const mark of shown.marks)
    for (let i = mark.start - shown.start; i < mark.end - shown.start; i++) {
      kinds[i] = "semantic";
      titles[i] = `matches ${mark.query.join(", ")}: ${signed(mark.contribution)}`;
    }
  for (const term of hit.lexical?.terms ?? [])
    for (const [start, end] of term.spans)
      for (let i = Math.max(start - shown.start, 0); i < Math.min(end - shown.start, points.length); i++) {
        kinds[i] = kinds[i].includes("semantic") ? "semantic lexical" : "lexical";
        titles[i] = titles[i] || `the term ${term.term}: ${signed(term.bonus || term.score)}`;
      }
  /** @type {(Node | string)[]} */
  const parts = [];
  for (let i = 0; i < points.length;) {
    let end = i + 1;
    while (end < points.length && kinds[end] === kinds[i] && titles[end] === titles[i]) end++;
    const text = points.slice(i, end).join("");
    parts.push(kinds[i] ? element("mark", { class: kinds[i], title: titles[i] }, text) : text);
    i = end;
  }
  return element("p", { class: "snippet", dir: "auto" }, shown.cut_start ? "… " : "", parts, shown.cut_end ? " …" : "");
}

/** @param {Record<string, unknown>} metadata */
export const metadataText = (metadata) =>
  isolatedList(
    Object.entries(metadata).map(([field, value]) => `${field}: ${beginning(shownValue(value), VALUE_CHARS)}`),
    " · ",
  );
