// @ts-check
// Rerank documents for a query: before, after, and the words that decided.

import { Latest, post } from "./api.js";
import { announce, button, debounced, element, fill, labeled, plain } from "./dom.js";
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
  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.latest = new Latest();
    this.query = element("input", { name: "query", dir: "auto", autocomplete: "off", spellcheck: "false" });
    this.documents = element("textarea", { name: "documents", rows: 8, dir: "auto", spellcheck: "false" });
    this.query.value = QUERY;
    this.documents.value = DOCUMENTS.join("\n");
    this.results = element("div");
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
    if (fields.query !== undefined) this.query.value = fields.query;
    if (fields.documents !== undefined) this.documents.value = fields.documents;
    return this.show();
  }

  /** @returns {string[]} */
  texts() {
    const typed = this.documents.value.trim();
    if (typed.startsWith("[")) {
      try {
        const listed = JSON.parse(typed);
        if (Array.isArray(listed)) return listed.map((each) => String(each?.text ?? each));
      } catch {
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
    const { query, documents } = this.request();
    if (!query.trim() || !documents.length) {
      fill(this.results, element("p", { class: "empty" }, "Type a query and some documents."));
      return;
    }
    const found = await this.latest.run((signal) => post("v2/rerank", this.request(), signal));
    if (!found) return;
    const shown = JSON.stringify(this.request(), null, 2);
    fill(
      this.results,
      element(
        "ol",
        { class: "hit-list" },
        found.results.map((/** @type {any} */ result, /** @type {number} */ i) => row(result, i, documents)),
      ),
      element(
        "details",
        {},
        element("summary", {}, "The request, as Cohere's clients send it"),
        element("pre", { class: "scroll", tabindex: 0 }, `POST /v2/rerank\n${shown}`),
        button("Copy", (event) => copy(shown, /** @type {HTMLElement} */ (event.currentTarget))),
      ),
    );
    announce(`${found.results.length} documents, ordered.`);
  }
}

/**
 * A document with its former place and its spans.
 * @param {any} result
 * @param {number} i
 * @param {string[]} documents
 */
function row(result, i, documents) {
  const moved = result.index - i;
  const arrow = moved > 0 ? `▲ ${moved}` : moved < 0 ? `▼ ${-moved}` : "=";
  const said = moved > 0 ? `up ${moved}` : moved < 0 ? `down ${-moved}` : "as before";
  return element(
    "li",
    { class: "card hit" },
    element(
      "p",
      { class: "hit-head" },
      element("strong", {}, plain(result.relevance_score)),
      element("span", { class: "moved", "aria-label": said }, ` ${arrow} `),
      element("span", { class: "faint" }, `was number ${result.index + 1}`),
    ),
    spans(documents[result.index], result.relevant_spans ?? []),
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
