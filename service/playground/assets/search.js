// @ts-check
// Search a collection, and see why each hit stands where it stands.

import { Latest, collectionPath, get, post, send } from "./api.js";
import {
  announce,
  button,
  debounced,
  element,
  fill,
  grouped,
  labeled,
  menu,
  plain,
  setChoices,
  signed,
} from "./dom.js";
import { hashOf, writeState } from "./state.js";

const PAUSE_MS = 300;
const FIELDS = 6; // metadata fields with facets
const VALUES = 12; // of a facet
const SAMPLED = 50; // documents whose metadata name the fields
const SHOWN_PARTS = 12; // of a difference
const SMALLEST = 0.0005; // part of a difference with a row of its own
const VALUE_CHARS = 40; // of a metadata value
const STAGE_NAMES = {
  queue: "waiting",
  tokenise: "reading",
  encode: "encoding",
  search: "searching",
  rescore: "scoring",
  highlight: "highlighting",
};

/** The tab in which a collection is searched. */
export class Search {
  /**
   * @param {HTMLElement} panel
   * @param {any} known answer of GET /models
   */
  constructor(panel, known) {
    this.known = known;
    this.latest = new Latest();
    /** @type {Map<string, Set<string>>} values of fields, as JSON, that hits must have */
    this.chosen = new Map();
    this.collection = menu([], "", { name: "collection" });
    this.query = element("input", {
      type: "search",
      name: "query",
      dir: "auto",
      autocomplete: "off",
      spellcheck: "false",
    });
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
    const soon = debounced(() => this.show(), PAUSE_MS);
    this.query.addEventListener("input", soon);
    for (const each of [this.mode, this.measure, this.k]) each.addEventListener("change", () => this.show());
    this.collection.addEventListener("change", () => {
      this.chosen.clear();
      return this.choose();
    });
    fill(
      panel,
      element("h1", {}, "Search, with reasons"),
      element(
        "div",
        { class: "toolbar" },
        labeled("Query", this.query, "field grow"),
        labeled("Collection", this.collection),
        labeled("Find by", this.mode),
        labeled("Order by", this.measure),
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

  /** @param {Record<string, string>} fields */
  async open(fields) {
    const { collections } = await get("collections");
    setChoices(
      this.collection,
      collections.map((/** @type {any} */ each) => [each.name, `${each.name} (${grouped(each.count)})`]),
      fields.collection ?? this.collection.value ?? "default",
    );
    if (!collections.length) {
      const link = element("a", { href: "#collection" }, "Add some on the tab Collection.");
      fill(this.results, element("p", { class: "empty" }, "There are no documents yet. ", link));
      return;
    }
    if (fields.query !== undefined) this.query.value = fields.query;
    for (const name of /** @type {const} */ (["mode", "measure", "k"]))
      if (fields[name]) this[name].value = fields[name];
    this.chosen = readFilters(fields.filter) ?? this.chosen;
    await this.choose();
  }

  /** Show the facets of the chosen collection, and search it. */
  async choose() {
    const name = this.collection.value;
    if (!this.query.value && name === "default") this.query.placeholder = "my parcel never came";
    const fields = await metadataFields(name);
    this.facets = fields.slice(0, FIELDS).map((field) => ({ field, values: VALUES }));
    const counted = await post(`${collectionPath(name)}/count`, { facets: this.facets });
    fill(
      this.filters,
      counted.facets
        .filter((/** @type {any} */ each) => each.distinct <= 50)
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
        ` ${value} `,
        element("span", { class: "faint" }, grouped(count)),
      );
    });
    return element("details", { class: "facet", open: this.chosen.has(facet.field) }, summary, boxes);
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
      k: this.k.value,
      filter: filter
        ? JSON.stringify(Object.fromEntries([...this.chosen].map(([field, values]) => [field, [...values]])))
        : "",
    };
  }

  async show() {
    writeState("search", this.fields());
    const query = this.query.value.trim();
    if (!query) {
      fill(this.results, element("p", { class: "empty" }, "Type what you look for."));
      return;
    }
    const body = {
      query,
      collection: this.collection.value,
      k: Number(this.k.value),
      mode: this.mode.value,
      measure: this.measure.value || null,
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
    const [{ hits }] = found.result.results;
    fill(
      this.results,
      timingBar(found.timing, found.total),
      hits.length ? null : element("p", { class: "empty" }, "No document passes."),
      element(
        "ol",
        { class: "hit-list" },
        hits.map((/** @type {any} */ hit, /** @type {number} */ i) => this.hit(hit, hits[i + 1], found.result)),
      ),
    );
    announce(`${hits.length} hits.`);
  }

  /** @param {any} hit @param {any} next @param {any} result */
  hit(hit, next, result) {
    const measure = result.measure === "cosine" ? "rcmd_words" : result.measure;
    const by = `${measure}:${result.model}`;
    const why = hashOf("compare", { a: this.query.value, b: hit.text, by });
    const box = element("div");
    const lexical = hit.lexical;
    return element(
      "li",
      { class: "card hit" },
      element(
        "p",
        { class: "hit-head" },
        element("strong", {}, hit.id),
        element("span", { class: "faint" }, ` ${result.measure} ${plain(hit.score)}`),
        lexical?.bonus
          ? element(
              "span",
              { class: "faint" },
              ` ${signed(lexical.bonus)} for ${lexical.terms.length} ${lexical.terms.length === 1 ? "term" : "terms"}`,
            )
          : null,
        hit.probability === null
          ? null
          : element("span", { class: "faint" }, ` same in ${Math.round(100 * hit.probability)} of 100 cases`),
      ),
      snippet(hit),
      element(
        "p",
        { class: "toolbar" },
        element("a", { class: "button", href: why, "aria-label": `Why ${hit.id}?` }, "Why?"),
        next
          ? button(`Why above ${next.id}?`, () => this.difference(box, hit, next, result), { class: "quiet" })
          : null,
        element("span", { class: "faint metadata" }, metadataText(hit.metadata)),
      ),
      box,
    );
  }

  /** @param {HTMLElement} box @param {any} a @param {any} b @param {any} result */
  async difference(box, a, b, result) {
    const mode = a.lexical ? "hybrid" : "vector";
    const body = {
      query: this.query.value,
      a: a.id,
      b: b.id,
      collection: this.collection.value,
      measure: result.measure,
      mode,
      format: "json",
    };
    const found = await post("explain/difference", body);
    const largest = Math.max(...found.parts.map((/** @type {any} */ part) => Math.abs(part.difference)), 1e-9);
    const shown = found.parts
      .slice(0, SHOWN_PARTS)
      .filter((/** @type {any} */ part) => Math.abs(part.difference) >= SMALLEST);
    const rest = found.parts
      .slice(shown.length)
      .reduce((/** @type {number} */ sum, /** @type {any} */ part) => sum + part.difference, 0);
    const partners = (/** @type {any} */ share) =>
      share.partners.map((/** @type {any} */ each) => each.text).join(", ");
    const row = (/** @type {any} */ part) => {
      const bar = element("span", { class: `delta ${part.difference < 0 ? "negative" : "positive"}` });
      bar.style.width = `${(100 * Math.abs(part.difference)) / largest}%`;
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, part.kind === "term" ? `term ${part.text}` : part.text),
        element("td", {}, partners(part.a)),
        element("td", {}, partners(part.b)),
        element("td", { class: "number" }, element("data", { value: part.difference }, signed(part.difference))),
        element("td", { class: "delta-cell", "aria-hidden": "true" }, bar),
      );
    };
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
            `${a.id} is ${plain(Math.abs(found.difference))} ${found.difference < 0 ? "below" : "above"} ${b.id}; these parts sum to it.`,
          ),
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              ["Of the query", `In ${a.id}`, `In ${b.id}`, "Difference"].map((name) =>
                element("th", { scope: "col" }, name),
              ),
              element("td"),
            ),
          ),
          element(
            "tbody",
            {},
            shown.map(row),
            Math.abs(rest) >= SMALLEST
              ? row({
                  kind: "word",
                  text: "all other parts",
                  a: { partners: [] },
                  b: { partners: [] },
                  difference: rest,
                })
              : null,
          ),
        ),
      ),
    );
  }
}

/** @param {string | undefined} text */
function readFilters(text) {
  if (!text) return null;
  try {
    return new Map(
      Object.entries(JSON.parse(text)).map(([field, values]) => [field, new Set(/** @type {string[]} */ (values))]),
    );
  } catch {
    return null;
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
        titles[i] = titles[i] || `the term ${term.term}: ${signed(term.bonus)}`;
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
 * @returns {Promise<string[]>}
 */
export async function metadataFields(name) {
  const { documents } = await post(`${collectionPath(name)}/list`, { limit: SAMPLED });
  return [...new Set(documents.flatMap((/** @type {any} */ each) => Object.keys(each.metadata)))];
}

/** @param {Record<string, unknown>} metadata */
export const metadataText = (metadata) =>
  Object.entries(metadata)
    .map(([field, value]) => `${field}: ${shortened(Array.isArray(value) ? value.join(", ") : String(value))}`)
    .join(" · ");

/** @param {string} text */
const shortened = (text) => (text.length > VALUE_CHARS ? `${Array.from(text).slice(0, VALUE_CHARS).join("")} …` : text);

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
