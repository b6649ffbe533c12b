// @ts-check
// Compare two texts while they are typed, by one or several measures and models side by side.

import { Latest, download, post, send } from "./api.js";
import { announce, button, debounced, element, fill, isolated, labeled, menu, modelsOf, redraw } from "./dom.js";
import { explanationCard } from "./explanation.js";
import { MeasureMenu } from "./measures.js";
import { multilingualOffer } from "./multilingual.js";
import { typicalOf } from "./scale.js";
import { copy, writeState } from "./state.js";

const PAUSE_MS = 300;
const EXPLAINED_BY = "rcmd_words"; // as the service does where no measure is named
const MAX_VIEWS = 3;
const ALL_LINKS = 100_000; // more than two texts of 256 tokens have; what is left out has a part of its own
const VIEW_TYPE = "application/vnd.semblance.view+json"; // an explanation with its groups, rounded numbers and colors
const LONGEST_LINK = 8000; // characters of an address that every program accepts
/** @type {[string, string, string][]} */
const EXAMPLES = [
  ["A parcel", "My parcel never came.", "My package has not arrived."],
  ["A negation", "The new drug helped most patients.", "The new drug did not help most patients."],
  ["Two headlines", "Oil prices rise after pipeline blast", "Crude climbs as explosion shuts pipeline"],
  ["Not related", "She plays the violin in an orchestra.", "The meeting was moved to Thursday."],
  ["Numbers", "The invoice of 4,711 euros was paid in May.", "In May we paid a bill over 4,711 euros."],
];

/** @typedef {{measure: string, model: string}} View */

/** The tab in which two texts are compared. */
export class Compare {
  /**
   * @param {HTMLElement} panel
   * @param {any} known answer of GET /models
   */
  constructor(panel, known) {
    this.known = known;
    this.a = textArea("a", EXAMPLES[0][1]);
    this.b = textArea("b", EXAMPLES[0][2]);
    /** @type {{id: string, collection: string} | null} of which the second text is the best passage */
    this.document = null;
    this.source = element("p", { class: "faint", "aria-live": "polite" });
    /** @type {View[]} */
    this.views = [this.firstView()];
    /** @type {Map<string, boolean>} which parts of the explanations are open */
    this.opened = new Map();
    this.results = element("div", { class: "views" });
    this.latest = new Latest(this.results);
    const examples = menu(
      [["", "Examples"], ...EXAMPLES.map(([name], i) => /** @type {[string, string]} */ ([String(i), name]))],
      "",
      {
        "aria-label": "Examples",
      },
    );
    examples.addEventListener("change", () => {
      const [, a, b] = EXAMPLES[Number(examples.value)] ?? [];
      if (a) this.setTexts(a, b);
      examples.value = "";
    });
    const change = debounced(() => this.show(), PAUSE_MS);
    this.b.addEventListener("input", () => (this.document = null));
    for (const area of [this.a, this.b]) area.addEventListener("input", change);
    fill(
      panel,
      element("h1", {}, "Why are two texts alike?"),
      element(
        "div",
        { class: "pair" },
        labeled("First text", this.a, "field grow"),
        button("⇄", () => this.setTexts(this.b.value, this.a.value), {
          class: "swap quiet",
          "aria-label": "Swap the texts",
        }),
        labeled("Second text", this.b, "field grow"),
      ),
      this.source,
      element(
        "div",
        { class: "toolbar" },
        examples,
        (this.add = button("Compare with another measure or model", () => this.addView(), { class: "quiet" })),
        element("span", { class: "spacer" }),
        button("Copy link", (event) => this.copyLink(event), { class: "quiet" }),
        button("PNG", () => this.picture(), { class: "quiet" }),
        button("JSON", () => this.json(), { class: "quiet" }),
        button("curl", (event) => copy(this.curl(), /** @type {HTMLElement} */ (event.currentTarget)), {
          class: "quiet",
        }),
        button("Python", (event) => copy(this.python(), /** @type {HTMLElement} */ (event.currentTarget)), {
          class: "quiet",
        }),
      ),
      this.results,
    );
  }

  /**
   * Show texts and measures of an address, or the same as before without any; `id` and `collection` stand for the best
   * passage of a document.
   * @param {Record<string, string>} fields
   * @returns {Promise<void>}
   */
  async open(fields) {
    if (!Object.keys(fields).length) return this.show();
    this.document = fields.id === undefined ? null : { id: fields.id, collection: fields.collection ?? "default" };
    this.a.value = fields.a ?? (fields.b === undefined ? this.a.value : "");
    this.b.value = fields.b ?? (fields.a === undefined ? this.b.value : "");
    const views = (fields.by ?? fields.measure ?? "").split(",").filter(Boolean);
    const known = views.map((each) => this.viewOf(each)).filter((each) => each !== null);
    this.views = known.length ? known.slice(0, MAX_VIEWS) : [this.firstView()];
    return this.show();
  }

  /** @param {string} name `measure:model` of an address */
  viewOf(name) {
    const [measure, model = this.defaultModel()] = name.split(/:(.*)/s);
    const isKnown =
      this.measures().some(({ name }) => name === measure) && this.models().some(([each]) => each === model);
    return isKnown ? { measure, model } : null;
  }

  /** @returns {View} */
  firstView() {
    const names = this.measures().map(({ name }) => name);
    return { measure: names.includes(EXPLAINED_BY) ? EXPLAINED_BY : names[0], model: this.defaultModel() };
  }

  defaultModel() {
    return this.known.models.find((/** @type {any} */ each) => each.default).name;
  }

  /** @returns {[string, string][]} */
  models() {
    return modelsOf(this.known, "encoder");
  }

  /** @returns {{name: string, summary: string}[]} */
  measures() {
    return this.known.measures.filter((/** @type {any} */ each) => each.explainable);
  }

  /** Examples as buttons. */
  examples() {
    return EXAMPLES.flatMap(([name, a, b]) => [button(name, () => this.setTexts(a, b), { class: "quiet" }), " "]);
  }

  /** @param {string} a @param {string} b */
  setTexts(a, b) {
    this.document = null;
    this.a.value = a;
    this.b.value = b;
    this.show();
  }

  async addView() {
    const used = new Set(this.views.map((each) => each.measure));
    const measures = this.measures().map(({ name }) => name);
    const measure = ["cosine", "rcmd1_words", ...measures].find((each) => measures.includes(each) && !used.has(each));
    this.views.push({ measure: measure ?? measures[0], model: this.views[0].model });
    await this.show();
    if (this.add.hidden) this.results.querySelector("article:last-child select")?.focus();
  }

  /**
   * Compare by another model; a document has that of its collection, so its text is compared.
   * @param {View} view
   * @param {string} model
   */
  setModel(view, model) {
    view.model = model;
    this.document = null;
    this.show();
  }

  /** @param {number} i */
  removeView(i) {
    this.views.splice(i, 1);
    this.show();
    this.add.focus(); // the button that was pressed is about to go
  }

  fields() {
    const by = this.views.map((each) => `${each.measure}:${each.model}`).join(",");
    return { a: this.a.value, ...(this.document ?? { b: this.b.value }), by };
  }

  /**
   * A document is compared by the model of its collection, with the text that a search scores.
   * @param {View} view
   */
  request(view) {
    const { measure, model } = view;
    return { a: this.a.value, measure, ...(this.document ?? { b: this.b.value, model }) };
  }

  async show() {
    writeState("compare", this.fields());
    this.add.hidden = this.views.length >= MAX_VIEWS;
    fill(this.source);
    if (!this.a.value.trim() || !(this.document || this.b.value.trim())) {
      this.latest.cancel();
      fill(this.results, element("p", { class: "empty" }, "Type a text on both sides, or see ", this.examples()));
      return;
    }
    const found = await this.latest.run((signal) =>
      Promise.all(
        this.views.map((view) =>
          send("POST", "explain", { body: { ...this.request(view), max_links: ALL_LINKS }, accept: VIEW_TYPE, signal })
            .then((answer) => answer.json())
            .catch((error) => error),
        ),
      ),
    );
    if (found === undefined) return;
    this.showDocument(found);
    redraw(
      this.results,
      this.views.map((view, i) => this.card(view, i, found[i])),
    );
    const [first] = found;
    const said = this.results.querySelector(".verdict")?.textContent;
    const verdict = said ? `${said}. ` : "";
    announce(first instanceof Error ? first.message : `${verdict}The score is ${first.score.toFixed(3)}.`);
  }

  /**
   * Show which document the second text is of, and the model of its collection.
   * @param {any[]} found
   */
  showDocument(found) {
    if (!this.document) return;
    const { id, collection } = this.document;
    const part = found[0].passage ? "The best passage of " : "";
    fill(this.source, "Second text: ", part, isolated(id), ` in the collection ${collection}`);
    found.forEach((each, i) => (this.views[i].model = each.model ?? this.views[i].model));
    this.b.value = found[0].b?.text ?? "";
  }

  /** @param {View} view @param {number} i @param {any} found */
  card(view, i, found) {
    const measures = new MeasureMenu(this.measures(), view.measure, {
      id: `measure-${i + 1}`,
      "aria-label": `measure ${i + 1}`,
    });
    const model = menu(this.models(), view.model, { id: `model-${i + 1}`, "aria-label": `model ${i + 1}` });
    measures.select.addEventListener("change", () => {
      view.measure = measures.chosen;
      this.show();
    });
    model.addEventListener("change", () => this.setModel(view, model.value));
    return element(
      "article",
      { class: "card", "aria-label": `Result by ${view.measure}` },
      element(
        "div",
        { class: "toolbar" },
        measures.select,
        model,
        element("span", { class: "spacer" }),
        this.views.length > 1
          ? button("Remove", () => this.removeView(i), { class: "quiet", "aria-label": `Remove result ${i + 1}` })
          : null,
      ),
      measures.list,
      found instanceof Error
        ? element("p", { class: "refused" }, found.message)
        : explanationCard(
            found,
            multilingualOffer(found.warnings, this.known, (name) => this.setModel(view, name)),
            this.known.measures.find((/** @type {any} */ each) => each.name === view.measure),
            typicalOf(this.known, found.model, found.measure),
            this.opened,
          ),
    );
  }

  /** @param {Event} event */
  copyLink(event) {
    writeState("compare", this.fields());
    const asked = /** @type {HTMLElement} */ (event.currentTarget);
    if (location.href.length > LONGEST_LINK) announce("The texts are long: some programs cut such a link.");
    return copy(location.href, asked);
  }

  async picture() {
    const answer = await send("POST", "explain", {
      body: { ...this.request(this.views[0]), format: "png" },
      accept: "image/png",
    });
    download(await answer.blob(), "semblance.png");
  }

  async json() {
    const found = await post("explain", { ...this.request(this.views[0]), format: "json", max_links: ALL_LINKS });
    download(new Blob([JSON.stringify(found, null, 2)], { type: "application/json" }), "semblance.json");
  }

  curl() {
    const body = JSON.stringify(this.request(this.views[0])).replaceAll("'", "'\\''");
    const url = new URL("explain", location.href.split("#")[0]);
    return `curl -s ${url} -H 'content-type: application/json' -H 'accept: application/json' -d '${body}'`;
  }

  python() {
    const { a, b, ...named } = /** @type {Record<string, string>} */ (this.request(this.views[0]));
    const texts = [a, b].filter((each) => each !== undefined).map((each) => JSON.stringify(each));
    const options = Object.entries(named).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const url = new URL(".", location.href.split("#")[0]).href.replace(/\/$/, "");
    return [
      "from semblance_client import Client",
      "",
      `with Client(${JSON.stringify(url)}) as client:`,
      `    found = client.explain(${[...texts, ...options].join(", ")})`,
      "    print(found.score, found.links[:3])",
    ].join("\n");
  }
}

/** @param {string} name @param {string} text */
function textArea(name, text) {
  const area = element("textarea", { name, rows: 3, dir: "auto", spellcheck: "false" });
  area.value = text;
  return area;
}
