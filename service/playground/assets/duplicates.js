// @ts-check
// Near-duplicates of a collection: groups as they are found, those that say the same first.

import { Latest, collectionPath, download, linesOf, post, send } from "./api.js";
import { announce, button, counted, element, fill, grouped, isolated, isolatedList, labeled, plain } from "./dom.js";
import { metadataText } from "./hit.js";
import { hashOf } from "./state.js";
import { verdictLine } from "./verdict.js";

const MIN_SIMILARITY = "0.9"; // below it, most documents are related, but say something else
const OUT_OF_RANGE = "The least similarity is a number from −1 to 1, such as 0.9.";
const IN_DOCUMENTS = { a: "there", b: "here" }; // of a group, as the lists of words are called
const VERDICTS = ["same", undefined, "unsure", "different"]; // in the order of the list; undefined where none is given
const COLUMNS = ["group", "id", "like", "score", "verdict", "text"]; // of the CSV file

/** The section that finds near-duplicates. */
export class Duplicates {
  /** @param {(name: string) => unknown} onDeleted called after documents of a collection were deleted */
  constructor(onDeleted) {
    this.onDeleted = onDeleted;
    /** @type {any} the collection that is shown */
    this.one = null;
    /** @type {any[]} */
    this.found = [];
    this.groups = element("div");
    this.find = button("Find near-duplicates", () => this.search(), { disabled: true }); // until there is a collection
    this.least = element("input", { type: "number", min: "-1", max: "1", step: "0.05", value: MIN_SIMILARITY });
    this.finding = new Latest(this.groups);
    this.section = element(
      "section",
      { class: "card", "aria-label": "Near-duplicates" },
      element("h2", {}, "Near-duplicates"),
      element("div", { class: "toolbar" }, labeled("Least similarity", this.least), this.find),
      this.groups,
    );
  }

  /**
   * @param {any} one collection; undefined if there is none
   * @param {boolean} keep the groups, as after deleting some of their documents
   */
  show(one, keep) {
    this.one = one;
    this.find.disabled = !one;
    if (keep) return;
    this.finding.cancel();
    fill(this.groups);
  }

  async search() {
    const { valid, stepMismatch } = this.least.validity;
    if (!this.least.value || (!valid && !stepMismatch)) {
      fill(this.groups, element("p", { class: "refused", role: "alert" }, OUT_OF_RANGE));
      return;
    }
    this.find.disabled = true;
    fill(this.groups, element("p", { class: "faint" }, "Searching …"));
    try {
      await this.finding.run((signal) => this.list(signal));
    } finally {
      this.find.disabled = !this.one;
    }
  }

  /** @param {AbortSignal} signal */
  async list(signal) {
    const { name, count, model } = this.one;
    const listed = element("ol", { class: "hit-list" });
    const said = element("span", { class: "faint", role: "status" });
    const bar = element("progress", { max: count || 1, value: 0, "aria-label": "Documents compared" });
    const save = button("CSV", () => this.save(name), { class: "quiet", "aria-label": "CSV of the groups" });
    const stop = button("Stop", () => {
      this.finding.cancel();
      stop.replaceWith(save);
    });
    this.found = [];
    const body = { min_score: Number(this.least.value), explain: true };
    const path = `${collectionPath(name)}/duplicates`;
    const answer = await send("POST", path, { body, accept: "application/x-ndjson", signal });
    fill(this.groups, element("p", { class: "toolbar" }, bar, said, stop), listed);
    for await (const line of linesOf(answer)) {
      if (line.done === undefined) {
        for (const group of line.groups) this.add(group.documents, listed, model);
        bar.value = line.checked;
        said.textContent = `${this.counts()} among ${counted(line.checked, "document")} so far.`;
      } else {
        said.textContent = line.done ? `${this.counts()}.` : `Stopped: ${line.detail}`;
        if (line.done && !this.found.length)
          said.textContent = `No documents are as similar as ${plain(body.min_score, 2)}; a lower number finds related ones.`;
        if (this.found.length) stop.replaceWith(save);
        else stop.remove();
        bar.remove();
      }
    }
  }

  counts() {
    const documents = this.found.reduce((sum, each) => sum + each.length, 0);
    return `${counted(this.found.length, "group")} of ${counted(documents, "document")}`;
  }

  /**
   * List a group, before those that say the same less.
   * @param {any[]} documents
   * @param {HTMLElement} listed
   * @param {string} model
   */
  add([first, ...others], listed, model) {
    others.sort((one, other) => rankOf(one) - rankOf(other));
    const rank = rankOf(others[0]);
    const row = element("li", { class: "card", data: { rank } });
    this.fillRow(row, [first, ...others], model);
    const after = /** @type {HTMLElement[]} */ ([...listed.children]).find((each) => Number(each.dataset.rank) > rank);
    listed.insertBefore(row, after ?? null);
    this.found.push([first, ...others]);
  }

  /**
   * @param {HTMLElement} row
   * @param {any[]} documents
   * @param {string} model
   */
  fillRow(row, documents, model) {
    const [first, ...others] = documents;
    const texts = new Map(documents.map((each) => [each.id, each.text]));
    const why = (/** @type {any} */ { like, text }) =>
      hashOf("compare", { a: texts.get(like) ?? first.text, b: text, by: `cosine:${model}` });
    const same = others.filter((each) => rankOf(each) <= VERDICTS.indexOf(undefined));
    const asked = element("div");
    fill(
      row,
      documentText(first, null, ""),
      others.map((each) => documentText(each, first, why(each))),
      same.length ? button(deletion(same), () => this.ask(asked, row, documents, same), { class: "quiet" }) : null,
      asked,
    );
  }

  /**
   * @param {HTMLElement} asked where the question stands
   * @param {HTMLElement} row
   * @param {any[]} documents of the group
   * @param {any[]} doomed
   */
  ask(asked, row, documents, doomed) {
    const { name, model } = this.one;
    const sure = button(`Delete ${counted(doomed.length, "document")}`, async () => {
      await post(`${collectionPath(name)}/delete`, { ids: doomed.map((each) => each.id) });
      const left = documents.filter((each) => !doomed.includes(each));
      this.found = this.found.map((each) => (each[0].id === left[0].id ? left : each));
      this.fillRow(row, left, model);
      announce(`Deleted ${counted(doomed.length, "document")}.`);
      await this.onDeleted(name);
    });
    fill(
      asked,
      element(
        "div",
        { class: "notice" },
        "Delete ",
        isolatedList(doomed.map((each) => each.id)),
        ` from ${name}? This cannot be undone.`,
        doomed.some((each) => !sameMetadata(each, documents[0])) ? " Their metadata differ from the first one's." : "",
        element(
          "div",
          { class: "toolbar" },
          sure,
          button("Cancel", () => fill(asked), { class: "quiet" }),
        ),
      ),
    );
    sure.focus();
  }

  /** @param {string} name of the collection */
  save(name) {
    const rows = this.found.flatMap((documents, i) =>
      documents.map((/** @type {any} */ each) => [i + 1, each.id, each.like, each.score, verdictOf(each), each.text]),
    );
    const lines = [COLUMNS, ...rows].map((row) => row.map(csvField).join(","));
    // spreadsheets take a file with this mark for UTF-8
    download(new Blob([`\ufeff${lines.join("\r\n")}\r\n`], { type: "text/csv" }), `${name}-duplicates.csv`);
  }
}

/** @param {any} each */
const verdictOf = (each) => each.explanation?.same?.verdict;

/**
 * @param {any} one
 * @param {any} other
 */
const sameMetadata = (one, other) => JSON.stringify(one.metadata) === JSON.stringify(other.metadata);

/** @param {any} each */
const rankOf = (each) => VERDICTS.indexOf(verdictOf(each));

/** @param {any[]} doomed */
function deletion(doomed) {
  const [others, says] = doomed.length > 1 ? [`the ${grouped(doomed.length)} others`, "say"] : ["the other", "says"];
  return `Keep the first, delete ${others}${verdictOf(doomed[0]) ? ` that ${says} the same` : ""}`;
}

/** @param {unknown} value */
const csvField = (value) => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/**
 * A document of a group, with the words that join it to the first one, and those that differ.
 * @param {any} each
 * @param {any} first
 * @param {string} why address of the reasons of its score
 */
function documentText(each, first, why) {
  return element(
    "div",
    { class: "duplicate" },
    element("strong", {}, isolated(each.id)),
    first && element("span", { class: "faint" }, ` ${plain(each.score)} with `, isolated(each.like), " "),
    first && element("a", { href: why }, "Why?"),
    first && verdictLine(each.explanation?.same, IN_DOCUMENTS),
    first && listed("both", each.in_both),
    first && listed("only here", each.only_here),
    first && listed("only there", each.only_there),
    element("p", { dir: "auto" }, each.text),
    element("p", { class: "faint metadata" }, metadataText(each.metadata)),
  );
}

/**
 * @param {string} what
 * @param {string[]} words
 */
const listed = (what, words) =>
  words.length ? element("div", { class: "faint" }, `${what}: `, isolatedList(words)) : null;
