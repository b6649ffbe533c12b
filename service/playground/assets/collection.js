// @ts-check
// What a collection holds: counts, documents, near-duplicates; drop a file to add documents.

import { Latest, collectionPath, get, loaded, post, send } from "./api.js";
import { button, choose, element, fill, grouped, labeled, menu, setChoices } from "./dom.js";
import { CollectionList, holdingText } from "./collections.js";
import { DocumentPages } from "./documents.js";
import { Duplicates } from "./duplicates.js";
import { Import } from "./import.js";
import { metadataFields } from "./search.js";
import { last, writeState } from "./state.js";

const MAX_GROUPS = 12; // of a map, with a mark of their own
const MAX_FACETS = 20; // of a request

/** The tab of a collection. */
export class Collection {
  /**
   * @param {HTMLElement} panel
   * @param {any} models answer of GET /models
   */
  constructor(panel, models) {
    this.collection = menu([], "", { name: "collection" });
    this.collection.addEventListener("change", () => {
      this.listing.cancel(); // else it would choose the former one again
      return this.show();
    });
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
    this.duplicates = new Duplicates((name) => this.refresh(name, true));
    this.field = menu([["", "nothing"]], "", { name: "field" });
    this.field.addEventListener("change", () => this.map.hasChildNodes() && this.drawMap());
    this.toMap = button("Draw map", () => this.drawMap(), { disabled: true }); // until the fields are known
    this.map = element("div");
    this.listing = new Latest();
    this.describing = new Latest();
    this.drawing = new Latest(this.map);
    fill(
      panel,
      element("h1", {}, "Collections"),
      element("div", { class: "toolbar" }, labeled("Collection", this.collection)),
      this.about,
      this.all.section,
      this.adding.section,
      this.duplicates.section,
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
    const isShown = await this.refresh(fields.collection || last.collection);
    if (!isShown || !fields.map) return;
    choose(this.field, fields.color, "");
    await this.drawMap();
  }

  /**
   * Read the collections anew, and show one of them.
   * @param {string} wanted
   * @param {boolean} [keepsGroups] of near-duplicates
   * @returns {Promise<boolean>} whether it is shown; otherwise there is none, or another call took the place of this one
   */
  async refresh(wanted, keepsGroups = false) {
    const found = await this.listing.run((signal) => get("collections", signal));
    if (!found) return false;
    this.known = found.collections;
    /** @type {[string, string][]} */
    const choices = this.known.map((each) => [each.name, `${each.name} (${grouped(each.count)})`]);
    setChoices(this.collection, choices, wanted || "default");
    this.missing = wanted && wanted !== this.collection.value ? wanted : "";
    if (this.missing) this.collection.value = "";
    return this.show(keepsGroups);
  }

  /**
   * Show the chosen collection; what is there of the same version stays.
   * @param {boolean} [keepsGroups] of near-duplicates
   */
  async show(keepsGroups = false) {
    this.all.show(this.known, this.collection.value);
    const one = this.known.find((each) => each.name === this.collection.value);
    const state = one ? `${one.name} ${one.version}` : "";
    if (one) last.collection = one.name;
    if (one && state === this.state) {
      this.writeState();
      return true;
    }
    this.state = "";
    for (const each of [this.describing, this.drawing]) each.cancel();
    fill(this.map);
    this.documents.clear();
    this.toMap.disabled = true;
    this.duplicates.show(one, keepsGroups);
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
    const [found] = await Promise.all([
      this.describing.run(async (signal) => {
        const fields = await metadataFields(one.name, signal);
        return { fields, color: await colored(one, fields, signal) };
      }),
      this.documents.show(one),
    ]);
    if (!found) return false;
    const choices = found.fields.map((field) => /** @type {[string, string]} */ ([field, field]));
    setChoices(this.field, [...choices, ["", "nothing"]], found.color);
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
}

/**
 * The field whose values tell most documents apart: one with a mark for each value; empty if there is none.
 * @param {any} one collection
 * @param {string[]} fields
 * @param {AbortSignal} signal
 */
async function colored(one, fields, signal) {
  if (!fields.length) return "";
  const asked = fields.slice(0, MAX_FACETS).map((field) => ({ field, values: MAX_GROUPS }));
  const { facets } = await post(`${collectionPath(one.name)}/count`, { facets: asked }, signal);
  const covered = (/** @type {any} */ { distinct, values }) =>
    distinct < 2 || distinct > MAX_GROUPS
      ? 0
      : values.reduce((/** @type {number} */ sum, /** @type {any} */ { count }) => sum + count, 0);
  return facets.reduce(
    (/** @type {any} */ best, /** @type {any} */ each) => (covered(each) > covered(best) ? each : best),
    { field: "", distinct: 0 },
  ).field;
}
