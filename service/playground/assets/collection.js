// @ts-check
// What a collection holds: counts, documents, near-duplicates; drop a file to add documents.

import { Latest, collectionPath, get, linesOf, loaded, send } from "./api.js";
import {
  button,
  choose,
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
import { Import } from "./import.js";
import { metadataFields } from "./search.js";
import { hashOf, writeState } from "./state.js";
import { verdictLine } from "./verdict.js";

const MIN_SIMILARITY = "0.6"; // of near-duplicates; the sample has some
const IN_DOCUMENTS = { a: "there", b: "here" }; // of a group, as the lists of words are called

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
    this.adding = new Import(
      () => this.known,
      (name) => this.refresh(name),
    );
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
      this.adding.section,
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
    await this.adding.add(new File([await file.blob()], "help_centre.jsonl"), "default");
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
