// @ts-check
// What a collection holds: counts, documents, near-duplicates; drop a file to add documents.

import { Latest, collectionPath, get, linesOf, loaded, send } from "./api.js";
import {
  announce,
  button,
  choose,
  clearMessage,
  counted,
  element,
  fill,
  grouped,
  isolated,
  isolatedList,
  labeled,
  menu,
  plain,
  setChoices,
} from "./dom.js";
import { CollectionList, holdingText } from "./collections.js";
import { DocumentPages } from "./documents.js";
import { SUFFIXES, readDocuments } from "./files.js";
import { metadataFields } from "./search.js";
import { hashOf, writeState } from "./state.js";
import { verdictLine } from "./verdict.js";

const BATCH_LINES = 200; // of a request
const BATCH_CHARS = 500_000;
const SHOWN_ROWS = 5; // of a file, that were refused or have a warning
const MIN_SIMILARITY = "0.6"; // of near-duplicates; the sample has some
const IN_DOCUMENTS = { a: "there", b: "here" }; // of a group, as the lists of words are called
const NAME_PATTERN = "[a-z0-9][a-z0-9._\\-]{0,63}"; // as in service/names.py
const NAME_RULE =
  "A name has 1 to 64 characters of a-z, 0-9, “.”, “_” and “-”, and starts with a letter or digit: change “Into the collection”.";

/** @typedef {import("./files.js").Row} Row */
/** @typedef {import("./files.js").Problem} Problem */

/** The tab of a collection. */
export class Collection {
  /**
   * @param {HTMLElement} panel
   * @param {any} models answer of GET /models
   */
  constructor(panel, models) {
    this.collection = menu([], "", { name: "collection" });
    this.collection.addEventListener("change", () => this.show());
    /** @type {any[]} the collections */
    this.known = [];
    /** The collection of an address that does not exist. */
    this.missing = "";
    /** Name and version of the collection that is shown. */
    this.state = "";
    this.about = element("div");
    this.all = new CollectionList(models, (name) => this.refresh(name));
    this.documents = new DocumentPages();
    this.name = element("input", { name: "name", value: "mine", pattern: NAME_PATTERN, autocomplete: "off" });
    this.file = element("input", { type: "file", accept: SUFFIXES.join(",") });
    this.progress = element("div", { "aria-live": "polite" });
    this.drop = element(
      "section",
      { class: "card drop", "aria-label": "Add documents" },
      element("h2", {}, "Add documents"),
      element(
        "p",
        { class: "faint" },
        "Drop a CSV or JSONL file here, or choose one. A column or field “text” is needed; “id” and all others are kept.",
      ),
      element("div", { class: "toolbar" }, labeled("Into the collection", this.name), labeled("File", this.file)),
      this.progress,
    );
    this.file.addEventListener("change", async () => {
      const [file] = this.file.files;
      if (file) await this.index(file);
      this.file.value = ""; // so that the same file can be chosen again
    });
    this.drop.addEventListener("dragover", (/** @type {DragEvent} */ event) => event.preventDefault());
    this.drop.addEventListener("drop", (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      return file && this.index(file);
    });
    this.groups = element("div");
    this.find = button("Find near-duplicates", () => this.duplicates(), { disabled: true }); // until there is a collection
    this.field = menu([["", "nothing"]], "", { name: "field" });
    this.field.addEventListener("change", () => this.map.hasChildNodes() && this.drawMap());
    this.toMap = button("Draw map", () => this.drawMap(), { disabled: true }); // until the fields are known
    this.map = element("div");
    this.least = element("input", { type: "number", min: "-1", max: "1", step: "0.05", value: MIN_SIMILARITY });
    this.listing = new Latest();
    this.describing = new Latest();
    this.finding = new Latest(this.groups);
    this.drawing = new Latest(this.map);
    fill(
      panel,
      element("h1", {}, "Collections"),
      element("div", { class: "toolbar" }, labeled("Collection", this.collection)),
      this.about,
      this.all.section,
      this.drop,
      element(
        "section",
        { class: "card", "aria-label": "Near-duplicates" },
        element("h2", {}, "Near-duplicates"),
        element("div", { class: "toolbar" }, labeled("Least similarity", this.least), this.find),
        this.groups,
      ),
      element(
        "section",
        { class: "card", "aria-label": "Map" },
        element("h2", {}, "Map"),
        element("div", { class: "toolbar" }, labeled("Color by", this.field), this.toMap),
        this.map,
      ),
      this.documents.section,
    );
  }

  /**
   * Show the collection of an address, and its map if that says so; without fields, the same as before.
   * @param {Record<string, string>} fields
   */
  async open(fields) {
    const isShown = await this.refresh(fields.collection || this.collection.value);
    if (!isShown || !fields.map) return;
    choose(this.field, fields.color, "");
    await this.drawMap();
  }

  /**
   * Read the collections anew, and show one of them.
   * @param {string} wanted
   * @returns {Promise<boolean>} whether it is shown; otherwise there is none, or another call took the place of this one
   */
  async refresh(wanted) {
    const found = await this.listing.run((signal) => get("collections", signal));
    if (!found) return false;
    this.known = found.collections;
    /** @type {[string, string][]} */
    const choices = this.known.map((each) => [each.name, `${each.name} (${grouped(each.count)})`]);
    setChoices(this.collection, choices, wanted || "default");
    this.missing = wanted && wanted !== this.collection.value ? wanted : "";
    if (this.missing) this.collection.value = "";
    return this.show();
  }

  /** Show the chosen collection; what is there of the same version stays. */
  async show() {
    this.all.show(this.known, this.collection.value);
    const one = this.known.find((each) => each.name === this.collection.value);
    const state = one ? `${one.name} ${one.version}` : "";
    if (one && state === this.state) {
      this.writeState();
      return true;
    }
    this.state = "";
    for (const each of [this.describing, this.finding, this.drawing]) each.cancel();
    for (const each of [this.groups, this.map]) fill(each);
    this.documents.clear();
    this.toMap.disabled = true;
    this.find.disabled = !one;
    if (!one) {
      const none = this.missing ? `There is no collection named “${this.missing}”.` : "There is no collection yet.";
      fill(
        this.about,
        element("p", { class: "empty" }, none),
        this.known.length ? null : button("Add the sample: 200 answers of a help center", () => this.addSample()),
      );
      return false;
    }
    this.writeState();
    const facts = [
      ["Passages", grouped(one.passages?.count ?? one.count)],
      ["Measure", one.measure],
      ["Dimensions", String(one.dim)],
      ["Index", one.index],
      ["Token codes", one.tokens],
    ];
    fill(
      this.about,
      element("p", {}, element("strong", {}, one.name), `: ${holdingText(one)}`),
      element(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
      ),
    );
    const [fields] = await Promise.all([
      this.describing.run((signal) => metadataFields(one.name, signal)),
      this.documents.show(one),
    ]);
    if (!fields) return false;
    const choices = fields.map((field) => /** @type {[string, string]} */ ([field, field]));
    setChoices(this.field, [...choices, ["", "nothing"]], fields[0] ?? "");
    this.toMap.disabled = false;
    this.state = state;
    return true;
  }

  writeState() {
    const map = this.map.hasChildNodes();
    const fields = { map: map ? "shown" : "", color: map ? this.field.value : "" };
    writeState("collection", { collection: this.collection.value, ...fields });
  }

  async drawMap() {
    const [name, field] = [this.collection.value, this.field.value];
    const box = element("div"); // its own, so that an answer that comes late is not shown
    fill(this.map, box);
    this.writeState();
    await this.drawing.run(async (signal) => {
      const { DocumentMap } = await loaded(import("./map.js"));
      if (!signal.aborted) await new DocumentMap(box, name, field).show(signal);
    });
  }

  async addSample() {
    const file = await send("GET", new URL("./sample/help_centre.jsonl", import.meta.url).href, { accept: "*/*" });
    this.name.value = "default";
    await this.index(new File([await file.blob()], "help_centre.jsonl"));
  }

  async duplicates() {
    this.find.disabled = true;
    fill(this.groups, element("p", { class: "faint" }, "Searching …"));
    try {
      await this.finding.run((signal) => this.listDuplicates(signal));
    } finally {
      this.find.disabled = !this.collection.value;
    }
  }

  /** @param {AbortSignal} signal */
  async listDuplicates(signal) {
    const listed = element("ol", { class: "hit-list" });
    const said = element("span", { class: "faint", role: "status" });
    const known = this.known.find((each) => each.name === this.collection.value);
    const bar = element("progress", { max: known?.count || 1, value: 0, "aria-label": "Documents compared" });
    const stop = button("Stop", () => {
      this.finding.cancel();
      stop.remove();
    });
    const body = { min_score: Number(this.least.value), explain: true };
    const path = `${collectionPath(this.collection.value)}/duplicates`;
    const answer = await send("POST", path, { body, accept: "application/x-ndjson", signal });
    fill(this.groups, element("p", { class: "toolbar" }, bar, said, stop), listed);
    let groups = 0;
    for await (const line of linesOf(answer)) {
      if (line.done === undefined) {
        listed.append(...line.groups.map((/** @type {any} */ group) => groupRow(group, known.model)));
        groups += line.groups.length;
        bar.value = line.checked;
        said.textContent = `${counted(groups, "group")} among ${counted(line.checked, "document")} so far.`;
      } else {
        said.textContent = line.done ? `${counted(line.groups, "group")}.` : `Stopped: ${line.detail}`;
        stop.remove();
        bar.remove();
      }
    }
  }

  /**
   * Add the documents of a file, batch by batch.
   * @param {File} file
   */
  async index(file) {
    const name = this.name.value.trim();
    if (!this.name.checkValidity() || !name) {
      fill(this.progress, element("p", { class: "refused" }, NAME_RULE));
      return;
    }
    const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress" });
    const said = element("p", { class: "faint" }, file.name);
    fill(this.progress, bar, said);
    /** @type {Outcome} */
    const outcome = { sent: 0, refused: [], warned: [] };
    try {
      const { rows, refused, repeated, unnamed } = readDocuments(await file.arrayBuffer(), file.name);
      outcome.refused.push(...refused);
      if (!this.known.some((each) => each.name === name)) await send("PUT", collectionPath(name), { body: {} });
      const before = refused.length;
      for (const batch of batches(rows)) {
        await sendBatch(name, batch, outcome);
        bar.value = outcome.sent / rows.length;
        said.textContent = `${file.name}: ${grouped(outcome.sent)} of ${counted(rows.length, "document")}`;
      }
      const stored = counted(outcome.sent - (outcome.refused.length - before), "document");
      const twice = repeated.length
        ? ` Of rows with the same id, the last is kept: ${grouped(repeated.length)} left out.`
        : "";
      const nameless = unnamed.length ? ` Columns without a name are left out: ${unnamed.join(", ")}.` : "";
      said.textContent = `${file.name}: ${stored} stored in ${name}.${twice}${nameless}`;
      const replacing = repeated.map(({ id, line, former }) => ({
        line,
        detail: `the id ${id} is also that of line ${former}`,
      }));
      fill(
        this.progress,
        bar,
        said,
        rowList("refused", outcome.refused),
        rowList("stored with a warning", outcome.warned),
        rowList("with the id of an earlier row", replacing),
      );
      announce(said.textContent);
      clearMessage();
      await this.refresh(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const sent = outcome.sent ? ` (after ${counted(outcome.sent, "document")})` : "";
      fill(this.progress, element("p", { class: "refused" }, `${file.name}${sent}: ${reason}`));
    }
  }
}

/** @typedef {{sent: number, refused: Problem[], warned: Problem[]}} Outcome of the rows of a file */

/**
 * Send documents, and add to the outcome what became of them.
 * @param {string} collection
 * @param {Batch} batch
 * @param {Outcome} outcome
 */
async function sendBatch(collection, { rows, lines }, outcome) {
  const answer = await send("POST", `${collectionPath(collection)}/documents`, { lines: lines.join("") });
  const placed = (/** @type {any} */ each) => ({
    line: rows[each.line - 1].line,
    detail: `${each.pointer.slice(1)}: ${each.detail}`.replace(/^: /, ""),
  });
  for await (const line of linesOf(answer)) {
    if (line.done === false) throw new Error(line.detail);
    outcome.refused.push(...(line.errors ?? []).map(placed));
    outcome.warned.push(...(line.warnings ?? []).map(placed));
  }
  outcome.sent += rows.length;
}

/**
 * The first rows of a file of which there is something to say.
 * @param {string} said
 * @param {Problem[]} problems
 */
function rowList(said, problems) {
  if (!problems.length) return null;
  const shown = [...problems].sort((one, other) => one.line - other.line).slice(0, SHOWN_ROWS);
  const more = problems.length > shown.length ? ", such as" : "";
  return element(
    "div",
    { class: "notice" },
    `${counted(problems.length, "row")} ${said}${more}:`,
    element(
      "ul",
      {},
      shown.map(({ line, detail }) => element("li", {}, `line ${line}: ${detail}`)),
    ),
  );
}

/** @typedef {{rows: Row[], lines: string[]}} Batch rows, and their documents as lines */

/**
 * Documents in requests of bounded size.
 * @param {Row[]} rows
 * @returns {Generator<Batch>}
 */
function* batches(rows) {
  /** @type {Batch} */
  let batch = { rows: [], lines: [] };
  let chars = 0;
  for (const row of rows) {
    const line = `${JSON.stringify(row.document)}\n`;
    if (batch.rows.length && (batch.rows.length >= BATCH_LINES || chars + line.length > BATCH_CHARS)) {
      yield batch;
      batch = { rows: [], lines: [] };
      chars = 0;
    }
    batch.rows.push(row);
    batch.lines.push(line);
    chars += line.length;
  }
  if (batch.rows.length) yield batch;
}

/**
 * @param {any} group
 * @param {string} model of the collection
 */
function groupRow({ documents: [first, ...others] }, model) {
  const texts = new Map([first, ...others].map((each) => [each.id, each.text]));
  const why = (/** @type {any} */ { like, text }) =>
    hashOf("compare", { a: texts.get(like) ?? first.text, b: text, by: `cosine:${model}` });
  const like = others.map((/** @type {any} */ each) => documentText(each, first, why(each)));
  return element("li", { class: "card" }, documentText(first, null, ""), like);
}

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
  );
}

/**
 * @param {string} what
 * @param {string[]} words
 */
const listed = (what, words) =>
  words.length ? element("div", { class: "faint" }, `${what}: `, isolatedList(words)) : null;
