// @ts-check
// The documents of a collection, some at a time.

import { Latest, collectionPath, post } from "./api.js";
import { button, element, fill, grouped, isolated } from "./dom.js";
import { metadataText } from "./hit.js";

const PAGE = 10; // documents listed at a time

/** The section that lists documents, with the next and the previous ones. */
export class DocumentPages {
  constructor() {
    this.collection = "";
    this.count = 0;
    /** @type {(string | null)[]} what lists each page up to the next one */
    this.cursors = [null];
    this.page = 0;
    this.paging = new Latest();
    this.list = element("ul", { class: "documents" });
    this.said = element("span", { class: "faint", role: "status" });
    this.previous = button("Previous", () => this.turn(this.page - 1), { class: "quiet" });
    this.next = button("Next", () => this.turn(this.page + 1), { class: "quiet" });
    this.section = element(
      "section",
      { class: "card", "aria-label": "Listed documents" },
      element("h2", {}, "Documents"),
      element("div", { class: "toolbar" }, this.previous, this.next, this.said),
      this.list,
    );
    this.clear();
  }

  clear() {
    this.paging.cancel();
    fill(this.list);
    fill(this.said);
    this.previous.disabled = this.next.disabled = true;
  }

  /**
   * List the first documents.
   * @param {any} collection
   */
  show({ name, count }) {
    Object.assign(this, { collection: name, count, cursors: [null] });
    return this.turn(0);
  }

  /** @param {number} page */
  async turn(page) {
    const body = { limit: PAGE, cursor: this.cursors[page] };
    const found = await this.paging.run((signal) => post(`${collectionPath(this.collection)}/list`, body, signal));
    if (!found) return;
    this.page = page;
    this.cursors[page + 1] = found.cursor;
    fill(this.list, found.documents.map(documentRow));
    const first = page * PAGE + 1;
    const last = first + found.documents.length - 1;
    fill(
      this.said,
      found.documents.length ? `${grouped(first)} to ${grouped(last)} of ${grouped(this.count)}` : "None.",
    );
    this.previous.disabled = page === 0;
    this.next.disabled = !found.cursor;
  }
}

/** @param {any} each */
export function documentRow(each) {
  return element(
    "li",
    {},
    element("strong", {}, isolated(each.id)),
    element("p", { dir: "auto" }, each.text),
    element("span", { class: "faint" }, metadataText(each.metadata)),
  );
}
