// @ts-check
// Search a collection, and see why each hit stands where it stands.

import { Latest, aliases, collectionPath, get, post, send } from "./api.js";
import {
  announce,
  beginning,
  button,
  choose,
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
  setChoices,
  shownValue,
} from "./dom.js";
import { groupsOf, hitCard } from "./hit.js";
import { MeasureMenu } from "./measures.js";
import { reembedOffer } from "./multilingual.js";
import { typicalOf } from "./scale.js";
import { last, writeState } from "./state.js";

const PAUSE_MS = 300;
const FIELDS = 6; // metadata fields with facets
const VALUES = 12; // of a facet
const MAX_VALUES = 50; // of a field with a facet
const SAMPLED = 50; // documents whose metadata name the fields
const SAMPLE_FIELDS = "category,question,updated,views,tags"; // of the documents of the sample
const SAMPLE_QUERIES = ["my parcel never came", "two bills for one order", "how do I change my password"];
const ENCODED_A_HIT = 3; // documents
const EXPLAINED_BY = "rcmd_words"; // as POST /explain where no measure is named
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
    /** @type {Map<string, Set<string>>} values of fields, as JSON, that hits must have */
    this.chosen = new Map();
    /** Whether the sample is chosen, and whether anything was asked for before. */
    this.isSample = false;
    this.wasAsked = false;
    /** The collection of an address that does not exist. */
    this.missing = "";
    /** @type {Map<string, any>} collections by name and alias */
    this.collections = new Map();
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
    this.measure = new MeasureMenu(known.measures, EXPLAINED_BY);
    /** Whether the measure was chosen, and does not follow the collection. */
    this.isChosen = false;
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
    this.query.addEventListener("input", () => (this.wasAsked = true));
    this.query.addEventListener("input", soon);
    this.measure.select.addEventListener("change", () => (this.isChosen = true));
    for (const each of [this.mode, this.measure.select, this.rerankModel, this.k])
      each.addEventListener("change", () => this.show());
    this.collection.addEventListener("change", () => {
      this.opening.cancel(); // else it would choose the former one again
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
        labeled("Order by", this.measure.select),
        rerankModels.length ? labeled("Rerank by", this.rerankModel) : null,
        labeled("Hits", this.k),
      ),
      this.measure.list,
      this.filters,
      this.results,
    );
  }

  /**
   * Search as an address says, or as before without fields.
   * @param {Record<string, string>} fields
   */
  async open(fields) {
    const found = await this.opening.run((signal) => Promise.all([get("collections", signal), aliases(signal)]));
    if (!found) return;
    const [{ collections }, others] = found;
    if (Object.keys(fields).length) {
      this.wasAsked = true;
      this.query.value = fields.query ?? "";
      choose(this.mode, fields.mode, "hybrid");
      this.measure.set(fields.measure);
      this.isChosen = this.measure.chosen === fields.measure;
      choose(this.rerankModel, fields.rerank_model, "");
      choose(this.k, fields.k, "10");
      this.chosen = readFilters(fields.filter);
    }
    const isShown = this.collections.get(this.collection.value)?.name === last.collection;
    const wanted = fields.collection || (isShown ? this.collection.value : last.collection);
    if (wanted !== this.collection.value && !fields.filter) this.chosen.clear();
    this.collections = new Map(collections.map((/** @type {any} */ each) => [each.name, each]));
    /** @type {[string, string][]} */
    const choices = collections.map((/** @type {any} */ each) => [each.name, `${each.name} (${grouped(each.count)})`]);
    for (const { name, collection } of others) {
      if (!this.collections.has(collection)) continue;
      this.collections.set(name, this.collections.get(collection));
      choices.push([name, `${name} → ${collection}`]);
    }
    setChoices(this.collection, choices, wanted || "default");
    this.missing = wanted && wanted !== this.collection.value ? wanted : "";
    if (this.missing) this.collection.value = "";
    await this.choose();
  }

  /** Show the facets of the chosen collection, and search it. */
  async choose() {
    const name = this.collection.value;
    last.collection = this.collections.get(name)?.name ?? last.collection;
    this.query.placeholder = name === "default" ? "my parcel never came" : "";
    if (!this.isChosen) this.measure.set(explainedBy(this.collections.get(name)?.measure));
    fill(this.filters);
    const found = await this.choosing.run(async (signal) => {
      const fields = name ? await metadataFields(name, signal) : [];
      this.isSample = fields.join() === SAMPLE_FIELDS;
      if (this.isSample && !this.wasAsked) this.query.value = SAMPLE_QUERIES[0];
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
      measure: this.measure.chosen,
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
    if (this.isSample) return ["Type what you look for, such as ", this.examples()];
    if (this.collection.value) return "Type what you look for.";
    const link = element("a", { href: "#collection" }, "Add some on the tab Collection.");
    return ["There are no documents yet. ", link];
  }

  /** How many documents a measure of words scores: fewer where all of them must be encoded for that. */
  candidates() {
    const isEncoded =
      this.collections.get(this.collection.value)?.tokens === "none" && this.measure.chosen !== "cosine";
    return isEncoded ? ENCODED_A_HIT * Number(this.k.value) : null;
  }

  /** Queries of the sample as buttons. */
  examples() {
    const ask = (/** @type {string} */ query) => {
      this.query.value = query;
      return this.show();
    };
    return SAMPLE_QUERIES.flatMap((query) => [button(query, () => ask(query), { class: "quiet" }), " "]);
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
      fill(this.results, element("p", { class: "empty" }, [this.nothing()].flat(2)));
      return;
    }
    const body = {
      query,
      collection: this.collection.value,
      k: Number(this.k.value),
      mode: this.mode.value,
      measure: this.measure.chosen,
      rerank_model: this.rerankModel.value || null,
      filter: this.filter(),
      highlight: true,
      candidates: this.candidates(),
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
    const textFields = this.collections.get(body.collection)?.text_fields ?? [];
    const { collection } = body;
    const typical = typicalOf(this.known, model, measure);
    const groups = groupsOf(hits);
    const asked = { query: readAs ?? query, collection, measure, rerankModel, lexical, codes, textFields, typical };
    fill(
      this.results,
      notices(warnings),
      reembedOffer(warnings, this.known, collection),
      readAs ? element("p", { class: "faint" }, "Read as: ", isolated(readAs)) : null,
      missing.length
        ? element("p", { class: "faint" }, "Word for word in no document: ", isolatedList(missing), ".")
        : null,
      unanswered ? element("p", { class: "faint" }, "No document seems to answer this.") : null,
      hits.length ? null : element("p", { class: "empty" }, "No document passes."),
      element(
        "ol",
        { class: "hit-list" },
        groups.map((group, i) => hitCard(group, groups[i + 1]?.[0], asked)),
      ),
      timingBar(found.timing, found.total),
    );
    announce(`${counted(hits.length, "hit")}.`);
  }
}

/**
 * The measure that orders the hits of a collection: its own, unless that is the cosine, whose parts are spread over all
 * words, so that few links explain little of it.
 * @param {string | undefined} measure
 */
const explainedBy = (measure) => (measure === "cosine" ? EXPLAINED_BY : measure);

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
 * The metadata fields of the first documents of a collection.
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export async function metadataFields(name, signal) {
  const { documents } = await post(`${collectionPath(name)}/list`, { limit: SAMPLED }, signal);
  return [...new Set(documents.flatMap((/** @type {any} */ each) => Object.keys(each.metadata)))];
}

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
