// @ts-check
// Rerank documents for a query: before, after, and the words that decided.

import { Latest, Refused, post } from "./api.js";
import { announce, button, counted, debounced, element, fill, labeled, plain } from "./dom.js";
import { kindOf, typicalOf } from "./scale.js";
import { copy, writeState } from "./state.js";

const PAUSE_MS = 400;
const QUERY = "my parcel never came";
const DOCUMENTS = [
  "You can return any item within 30 days.",
  "Your package is on its way and arrives tomorrow.",
  "If a parcel does not arrive within ten days, we send it again or refund it.",
  "Refunds are paid within five working days.",
  "The courier leaves a card when no one is at home.",
];

/** The tab in which documents are reranked. */
export class Rerank {
  /**
   * @param {HTMLElement} panel
   * @param {any} known answer of GET /models
   */
  constructor(panel, known) {
    this.known = known;
    this.query = element("input", { name: "query", dir: "auto", autocomplete: "off", spellcheck: "false" });
    this.documents = element("textarea", { name: "documents", rows: 8, dir: "auto", spellcheck: "false" });
    this.query.value = QUERY;
    this.documents.value = DOCUMENTS.join("\n");
    this.results = element("div");
    this.latest = new Latest(this.results);
    const soon = debounced(() => this.show(), PAUSE_MS);
    for (const each of [this.query, this.documents]) each.addEventListener("input", soon);
    fill(
      panel,
      element("h1", {}, "Rerank, with the words that decided"),
      element(
        "div",
        { class: "pair" },
        element(
          "div",
          { class: "grow" },
          labeled("Query", this.query),
          labeled("Documents: one a line, or a JSON list", this.documents),
        ),
      ),
      this.results,
    );
  }

  /** @param {Record<string, string>} fields */
  open(fields) {
    if (Object.keys(fields).length) {
      this.query.value = fields.query ?? "";
      this.documents.value = fields.documents ?? "";
    }
    return this.show();
  }

  /** @returns {string[]} */
  texts() {
    const typed = this.documents.value.trim();
    if (typed.startsWith("[")) {
      try {
        return JSON.parse(typed).map(textOf);
      } catch (error) {
        if (error instanceof Refused) throw error;
        // not JSON yet: as typed
      }
    }
    return typed.split("\n").filter((/** @type {string} */ line) => line.trim());
  }

  /** The request as Cohere's clients send it, and what asks for spans. */
  request() {
    return { query: this.query.value, documents: this.texts(), relevant_spans: { mode: "enabled" } };
  }

  async show() {
    writeState("rerank", { query: this.query.value, documents: this.documents.value });
    if (!this.query.value.trim() || !this.documents.value.trim()) {
      this.latest.cancel();
      const example = button("an example", () => this.open({ query: QUERY, documents: DOCUMENTS.join("\n") }));
      fill(this.results, element("p", { class: "empty" }, "Type a query and some documents, or see ", example));
      return;
    }
    const answer = await this.latest.run(async (signal) => {
      const request = this.request();
      return { request, found: await post("v2/rerank", request, signal) };
    });
    if (!answer) return;
    const { request, found } = answer;
    const shown = JSON.stringify(request, null, 2);
    fill(
      this.results,
      element(
        "ol",
        { class: "hit-list" },
        found.results.map((/** @type {any} */ result, /** @type {number} */ i) =>
          row(result, i, request.documents[result.index], {
            measure: found.measure,
            typical: typicalOf(this.known, found.model, found.measure),
          }),
        ),
      ),
      element(
        "details",
        {},
        element("summary", {}, "The request, as Cohere's clients send it"),
        element("pre", { class: "scroll", tabindex: 0 }, `POST /v2/rerank\n${shown}`),
        button("Copy", (event) => copy(shown, /** @type {HTMLElement} */ (event.currentTarget))),
      ),
    );
    announce(`${counted(found.results.length, "document")}, ordered.`);
  }
}

/**
 * The text of an entry of a list: a text, or an object with one.
 * @param {any} entry
 * @param {number} i
 * @returns {string}
 */
function textOf(entry, i) {
  const text = typeof entry === "string" ? entry : entry?.text;
  if (typeof text !== "string") throw new Refused(0, `Entry ${i + 1} of the list has no field “text”.`);
  return text;
}

/**
 * A document with its former place and its spans.
 * @param {any} result
 * @param {number} i
 * @param {string} text
 * @param {{measure: string, typical: import("./scale.js").Typical | undefined}} scored
 */
function row(result, i, text, { measure, typical }) {
  const moved = result.index - i;
  const arrow = moved > 0 ? `▲ ${moved}` : moved < 0 ? `▼ ${-moved}` : "=";
  const said = moved > 0 ? `up ${moved}` : moved < 0 ? `down ${-moved}` : "as before";
  return element(
    "li",
    { class: "card hit" },
    element(
      "p",
      { class: "hit-head" },
      element("strong", {}, `${measure} ${plain(result.raw_score)}`),
      typical && element("span", {}, ` ${kindOf(result.raw_score, typical)}`),
      element("span", { class: "moved", "aria-label": said }, ` ${arrow} `),
      element(
        "span",
        { class: "faint" },
        `was number ${result.index + 1}; relevance_score ${plain(result.relevance_score)}`,
      ),
    ),
    spans(text, result.relevant_spans ?? []),
  );
}

/**
 * A document with its relevant spans marked.
 * @param {string} text
 * @param {{start: number, end: number, score: number}[]} marked
 */
function spans(text, marked) {
  const points = Array.from(text);
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const span of [...marked].sort((x, y) => x.start - y.start)) {
    parts.push(points.slice(at, span.start).join(""));
    parts.push(
      element("mark", { class: "semantic", title: plain(span.score) }, points.slice(span.start, span.end).join("")),
    );
    at = span.end;
  }
  parts.push(points.slice(at).join(""));
  return element("p", { class: "snippet", dir: "auto" }, parts);
}
