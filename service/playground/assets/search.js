// @ts-check
// Search a collection, and see why each hit stands where it stands.

import { Latest, collectionPath, get, post, send } from "./api.js";
import {
  announce,
  beginning,
  button,
  choose,
  clearMessage,
  counted,
  debounced,
  element,
  fill,
  grouped,
  isolated,
  isolatedList,
  labeled,
  menu,
  modelsOf,
  notices,
  plain,
  setChoices,
  shownValue,
  signed,
} from "./dom.js";
import { hashOf, writeState } from "./state.js";

const PAUSE_MS = 300;
const FIELDS = 6; // metadata fields with facets
const VALUES = 12; // of a facet
const MAX_VALUES = 50; // of a field with a facet
const SAMPLED = 50; // documents whose metadata name the fields
const SHOWN_PARTS = 12; // of a difference
const SMALLEST = 0.0005; // part of a difference with a row of its own
const ROUNDING = 0.002; // most that four rounded numbers differ by
const VALUE_CHARS = 40; // of a metadata value
const STAGE_NAMES = {
  queue: "waiting",
  tokenise: "reading",
  encode: "encoding",
  search: "searching",
  rescore: "scoring",
  highlight: "highlighting",
};

/**
 * @typedef {{query: string, collection: string, measure: string, model: string, rerankModel: string | null, lexical: boolean, codes: string[], textFields: string[]}} Asked
 */
/** @typedef {{partners: {text: string}[]}} Share */
/** @typedef {{kind: string, text: string, a: Share, b: Share, difference: number}} Part */

/** The tab in which a collection is searched. */
export class Search {
  /**
   * @param {HTMLElement} panel
   * @param {any} known answer of GET /models
   */
  constructor(panel, known) {
    this.known = known;
    /** @type {Map<string, Set<string>>} values of fields, as JSON, that hits must have */
    this.chosen = new Map();
    /** The collection of an address that does not exist. */
    this.missing = "";
    /** @type {Map<string, string[]>} metadata fields that are searched as text, by collection */
    this.textFields = new Map();
    this.collection = menu([], "", { name: "collection" });
    this.query = element("input", {
      type: "search",
      name: "query",
      dir: "auto",
      autocomplete: "off",
      spellcheck: "false",
      list: "suggestions",
    });
    this.suggestions = element("datalist", { id: "suggestions" });
    this.mode = menu(
      [
        ["hybrid", "meaning and words"],
        ["auto", "words where they say much"],
        ["vector", "meaning"],
        ["lexical", "words"],
      ],
      "hybrid",
    );
    this.measure = menu([["", "the collection's"], ...this.measures()], "");
    const rerankModels = modelsOf(known, "reranker");
    this.rerankModel = menu([["", "no model"], ...rerankModels], "");
    this.k = menu(
      [
        ["5", "5"],
        ["10", "10"],
        ["25", "25"],
        ["50", "50"],
      ],
      "10",
    );
    this.filters = element("div", { class: "filters", role: "group", "aria-label": "Filters" });
    this.results = element("div", { class: "hits" });
    this.opening = new Latest(this.filters, this.results);
    this.choosing = new Latest(this.filters, this.results);
    this.latest = new Latest(this.results);
    const soon = debounced(() => Promise.all([this.show(), this.suggest()]), PAUSE_MS);
    this.query.addEventListener("input", soon);
    for (const each of [this.mode, this.measure, this.rerankModel, this.k])
      each.addEventListener("change", () => this.show());
    this.collection.addEventListener("change", () => {
      this.chosen.clear();
      this.missing = "";
      return this.choose();
    });
    fill(
      panel,
      element("h1", {}, "Search, with reasons"),
      element(
        "div",
        { class: "toolbar" },
        labeled("Query", this.query, "field grow"),
        this.suggestions,
        labeled("Collection", this.collection),
        labeled("Find by", this.mode),
        labeled("Order by", this.measure),
        rerankModels.length ? labeled("Rerank by", this.rerankModel) : null,
        labeled("Hits", this.k),
      ),
      this.filters,
      this.results,
    );
  }

  /** @returns {[string, string][]} */
  measures() {
    return this.known.measures.map((/** @type {any} */ each) => [each.name, each.name]);
  }

  /**
   * Search as an address says, or as before without fields.
   * @param {Record<string, string>} fields
   */
  async open(fields) {
    const found = await this.opening.run((signal) => get("collections", signal));
    if (!found) return;
    if (Object.keys(fields).length) {
      this.query.value = fields.query ?? "";
      choose(this.mode, fields.mode, "hybrid");
      choose(this.measure, fields.measure, "");
      choose(this.rerankModel, fields.rerank_model, "");
      choose(this.k, fields.k, "10");
      this.chosen = readFilters(fields.filter);
    }
    for (const each of found.collections) this.textFields.set(each.name, each.text_fields);
    /** @type {[string, string][]} */
    const choices = found.collections.map((/** @type {any} */ each) => [
      each.name,
      `${each.name} (${grouped(each.count)})`,
    ]);
    const wanted = fields.collection || this.collection.value;
    setChoices(this.collection, choices, wanted || "default");
    this.missing = wanted && wanted !== this.collection.value ? wanted : "";
    if (this.missing) this.collection.value = "";
    await this.choose();
  }

  /** Show the facets of the chosen collection, and search it. */
  async choose() {
    const name = this.collection.value;
    this.query.placeholder = name === "default" ? "my parcel never came" : "";
    fill(this.filters);
    const found = await this.choosing.run(async (signal) => {
      const fields = name ? await metadataFields(name, signal) : [];
      const facets = fields.slice(0, FIELDS).map((field) => ({ field, values: VALUES }));
      return facets.length ? post(`${collectionPath(name)}/count`, { facets }, signal) : { facets };
    });
    if (!found) return;
    fill(
      this.filters,
      found.facets
        .filter((/** @type {any} */ each) => each.distinct <= MAX_VALUES)
        .map((/** @type {any} */ each) => this.facet(each)),
    );
    await this.show();
  }

  /** @param {any} facet */
  facet(facet) {
    const summary = element("summary", {}, facet.field);
    const boxes = facet.values.map((/** @type {any} */ { value, count }) => {
      const key = JSON.stringify(value);
      const box = element("input", { type: "checkbox", value: key, checked: this.chosen.get(facet.field)?.has(key) });
      box.addEventListener("change", () => {
        const values = this.chosen.get(facet.field) ?? new Set();
        if (box.checked) values.add(key);
        else values.delete(key);
        if (values.size) this.chosen.set(facet.field, values);
        else this.chosen.delete(facet.field);
        return this.show();
      });
      return element(
        "label",
        { class: "choice" },
        box,
        " ",
        isolated(beginning(shownValue(value), VALUE_CHARS)),
        " ",
        element("span", { class: "faint" }, grouped(count)),
      );
    });
    const cut =
      facet.values.length < facet.distinct
        ? element("p", { class: "faint" }, `${facet.values.length} of ${facet.distinct} values`)
        : null;
    return element("details", { class: "facet", open: this.chosen.has(facet.field) }, summary, boxes, cut);
  }

  filter() {
    const entries = [...this.chosen].map(([field, values]) => [
      field,
      { in: [...values].map((each) => JSON.parse(each)) },
    ]);
    return entries.length ? Object.fromEntries(entries) : null;
  }

  fields() {
    const filter = this.filter();
    return {
      query: this.query.value,
      collection: this.collection.value,
      mode: this.mode.value,
      measure: this.measure.value,
      rerank_model: this.rerankModel.value,
      k: this.k.value,
      filter: filter
        ? JSON.stringify(Object.fromEntries([...this.chosen].map(([field, values]) => [field, [...values]])))
        : "",
    };
  }

  /** What is said in place of hits where no collection is chosen, or nothing is asked. */
  nothing() {
    if (this.missing) return `There is no collection named “${this.missing}”.`;
    if (this.collection.value) return "Type what you look for.";
    const link = element("a", { href: "#collection" }, "Add some on the tab Collection.");
    return ["There are no documents yet. ", link];
  }

  /** Offer how the query may go on; where that fails, nothing is offered. */
  async suggest() {
    const body = { query: this.query.value, collection: this.collection.value, filter: this.filter() };
    if (!body.query || !body.collection) return;
    const found = await post("suggest", body).catch(() => ({ suggestions: [] }));
    if (this.query.value !== body.query) return;
    const texts = found.suggestions.map((/** @type {any} */ each) => each.text);
    fill(
      this.suggestions,
      texts.map((/** @type {string} */ text) => element("option", { value: text })),
    );
  }

  async show() {
    const query = this.query.value.trim();
    if (this.collection.value) writeState("search", this.fields());
    if (!query || !this.collection.value) {
      this.latest.cancel();
      fill(this.results, element("p", { class: "empty" }, this.nothing()));
      return;
    }
    const body = {
      query,
      collection: this.collection.value,
      k: Number(this.k.value),
      mode: this.mode.value,
      measure: this.measure.value || null,
      rerank_model: this.rerankModel.value || null,
      filter: this.filter(),
      highlight: true,
    };
    const found = await this.latest.run(async (signal) => {
      const began = performance.now();
      const answer = await send("POST", "search", { body, signal });
      const result = await answer.json();
      return { result, timing: answer.headers.get("server-timing") ?? "", total: performance.now() - began };
    });
    if (!found) return;
    const [{ hits, codes, missing_terms: missing, read_as: readAs, no_good_match: unanswered }] = found.result.results;
    const { measure, model, rerank_model: rerankModel, warnings } = found.result;
    const lexical = body.mode === "lexical";
    const textFields = this.textFields.get(body.collection) ?? [];
    const asked = { query, collection: body.collection, measure, model, rerankModel, lexical, codes, textFields };
    fill(
      this.results,
      notices(warnings),
      readAs ? element("p", { class: "faint" }, "Read as: ", isolated(readAs)) : null,
      missing.length ? element("p", { class: "faint" }, "No document has ", isolatedList(missing), ".") : null,
      unanswered ? element("p", { class: "faint" }, "No document seems to answer this.") : null,
      timingBar(found.timing, found.total),
      hits.length ? null : element("p", { class: "empty" }, "No document passes."),
      element(
        "ol",
        { class: "hit-list" },
        hits.map((/** @type {any} */ hit, /** @type {number} */ i) => hitCard(hit, hits[i + 1], asked)),
      ),
    );
    announce(`${counted(hits.length, "hit")}.`);
  }
}

/**
 * @param {any} hit
 * @param {any} next the one below, if there is one
 * @param {Asked} asked
 */
function hitCard(hit, next, asked) {
  const measure = asked.measure === "cosine" ? "rcmd_words" : asked.measure;
  const why = hashOf("compare", { a: asked.query, b: hit.text, by: `${measure}:${asked.model}` });
  const box = element("div");
  const lexical = hit.lexical;
  // where terms count for one of both only, or codes or a rerank model order, no route explains the difference
  const isExplained =
    next && !asked.rerankModel && Boolean(lexical) === Boolean(next.lexical) && lexical?.codes === next.lexical?.codes;
  const has = (lexical?.terms ?? []).filter((/** @type {any} */ each) => asked.codes.includes(each.term));
  const shown = Object.entries(hit.metadata).filter(([field]) => !asked.textFields.includes(field));
  const others = asked.textFields.filter((field) => field !== hit.field && typeof hit.metadata[field] === "string");
  return element(
    "li",
    { class: "card hit" },
    element(
      "p",
      { class: "hit-head" },
      element("strong", {}, isolated(hit.id)),
      asked.rerankModel && element("span", {}, ` ${asked.rerankModel} ${plain(hit.rerank_score)}`),
      element(
        "span",
        { class: "faint" },
        asked.lexical ? ` BM25 ${plain(lexical.score)}` : ` ${asked.measure} ${plain(hit.score)}`,
      ),
      lexical?.bonus
        ? element("span", { class: "faint" }, ` ${signed(lexical.bonus)} for ${counted(lexical.terms.length, "term")}`)
        : null,
      has.length
        ? element("span", { class: "faint" }, ` has ${has.map((/** @type {any} */ each) => each.term).join(", ")}`)
        : null,
      hit.probability === null || asked.lexical
        ? null
        : element("span", { class: "faint" }, ` same in ${Math.round(100 * hit.probability)} of 100 cases`),
      hit.field ? element("span", { class: "faint" }, ` in ${hit.field}`) : null,
    ),
    others.map((field) => element("p", { class: "hit-head" }, element("strong", {}, isolated(hit.metadata[field])))),
    snippet(hit),
    element(
      "p",
      { class: "toolbar" },
      element("a", { class: "button", href: why, "aria-label": `Why ${hit.id}?` }, "Why?"),
      isExplained
        ? button(`Why above ${next.id}?`, () => showDifference(box, hit, next, asked), { class: "quiet" })
        : null,
      element("span", { class: "faint metadata" }, metadataText(Object.fromEntries(shown))),
    ),
    box,
  );
}

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
async function showDifference(box, a, b, asked) {
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
          "; these parts sum to it.",
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
  const round = (/** @type {number} */ value) => Number(value.toFixed(3));
  const shown = (/** @type {any} */ hit) =>
    lexical ? round(hit.lexical.score) : round(hit.score) + round(hit.lexical?.bonus ?? 0);
  const ofShown = round(shown(a) - shown(b));
  return Math.abs(ofShown - difference) <= ROUNDING ? ofShown : round(difference);
}

/**
 * Filters of an address; none if it has none that can be read.
 * @param {string} [text]
 */
function readFilters(text = "{}") {
  try {
    return new Map(
      Object.entries(JSON.parse(text)).map(([field, values]) => [
        field,
        new Set(values.map((/** @type {string} */ each) => JSON.stringify(JSON.parse(each)))),
      ]),
    );
  } catch {
    return new Map();
  }
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

/**
 * The metadata fields of the first documents of a collection.
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export async function metadataFields(name, signal) {
  const { documents } = await post(`${collectionPath(name)}/list`, { limit: SAMPLED }, signal);
  return [...new Set(documents.flatMap((/** @type {any} */ each) => Object.keys(each.metadata)))];
}

/** @param {Record<string, unknown>} metadata */
export const metadataText = (metadata) =>
  isolatedList(
    Object.entries(metadata).map(([field, value]) => `${field}: ${beginning(shownValue(value), VALUE_CHARS)}`),
    " · ",
  );

/**
 * The time of the request, by stage.
 * @param {string} header
 * @param {number} total milliseconds
 */
function timingBar(header, total) {
  const stages = [...header.matchAll(/([\w-]+);dur=([\d.]+)/g)]
    .map(([, name, duration]) => ({
      name: STAGE_NAMES[/** @type {keyof typeof STAGE_NAMES} */ (name)] ?? name,
      ms: Number(duration),
    }))
    .filter((each) => each.ms > 0 && each.name !== "total");
  const segments = stages.map((each, i) => {
    const segment = element("div", {
      class: `segment positive n${i % 6}`,
      title: `${each.name}: ${each.ms.toFixed(1)} ms`,
    });
    segment.style.flexGrow = String(each.ms);
    return segment;
  });
  const words = stages.map((each) => `${each.name} ${each.ms.toFixed(1)}`).join(", ");
  return element(
    "div",
    { class: "timing" },
    element("div", { class: "bar thin", "aria-hidden": "true" }, segments),
    element("p", { class: "faint" }, `${total.toFixed(0)} ms here; in the service, in ms: ${words || "not said"}`),
  );
}
