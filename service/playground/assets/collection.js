// @ts-check
// What a collection holds: counts, documents, near-duplicates; drop a file to add documents.

import { collectionPath, get, linesOf, post, send } from "./api.js";
import { announce, button, element, fill, grouped, labeled, menu, plain, setChoices, signed } from "./dom.js";
import { readDocuments } from "./files.js";
import { metadataFields, metadataText } from "./search.js";
import { writeState } from "./state.js";

const PAGE = 100; // documents listed at a time
const BATCH_LINES = 200; // of a request
const BATCH_CHARS = 500_000;
const SHOWN_WORDS = 3; // that join duplicates

/** The tab of a collection. */
export class Collection {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.collection = menu([], "", { name: "collection" });
    this.collection.addEventListener("change", () => this.show());
    this.about = element("div");
    this.name = element("input", { name: "name", value: "mine", pattern: "[A-Za-z0-9._\\-]+", autocomplete: "off" });
    this.file = element("input", { type: "file", accept: ".csv,.tsv,.jsonl,.ndjson,.txt" });
    this.progress = element("div", { "aria-live": "polite" });
    this.drop = element(
      "section",
      { class: "card drop", "aria-label": "Add documents" },
      element("h2", {}, "Add documents"),
      element(
        "p",
        { class: "faint" },
        "Drop a CSV or JSONL file here, or choose one. A column or field `text` is needed; `id` and all others are kept.",
      ),
      element("div", { class: "toolbar" }, labeled("Into the collection", this.name), labeled("File", this.file)),
      this.progress,
    );
    this.file.addEventListener("change", () => this.file.files[0] && this.index(this.file.files[0]));
    this.drop.addEventListener("dragover", (/** @type {DragEvent} */ event) => event.preventDefault());
    this.drop.addEventListener("drop", (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      return file && this.index(file);
    });
    this.list = element("ul", { class: "documents", "aria-label": "Documents" });
    this.shown = element("span", { class: "faint" });
    /** @type {string | null} after the documents that are shown */
    this.cursor = null;
    this.more = button("Show more", () => this.nextPage(this.cursor), { class: "quiet", hidden: true });
    this.groups = element("div");
    this.field = menu([["", "nothing"]], "", { name: "field" });
    this.toMap = button("Draw map", () => this.drawMap(), { disabled: true }); // until the fields are known
    this.map = element("div");
    this.least = element("input", { type: "number", min: "-1", max: "1", step: "0.05", value: "0.75" });
    fill(
      panel,
      element("h1", {}, "Collections"),
      element("div", { class: "toolbar" }, labeled("Collection", this.collection)),
      this.about,
      this.drop,
      element(
        "section",
        { class: "card", "aria-label": "Near-duplicates" },
        element("h2", {}, "Near-duplicates"),
        element(
          "div",
          { class: "toolbar" },
          labeled("Least similarity", this.least),
          button("Find near-duplicates", (event) =>
            this.duplicates(/** @type {HTMLButtonElement} */ (event.currentTarget)),
          ),
        ),
        this.groups,
      ),
      element(
        "section",
        { class: "card", "aria-label": "Map" },
        element("h2", {}, "Map"),
        element("div", { class: "toolbar" }, labeled("Color by", this.field), this.toMap),
        this.map,
      ),
      element(
        "section",
        { class: "card", "aria-label": "Listed documents" },
        element("h2", {}, "Documents"),
        this.list,
        element("div", { class: "toolbar" }, this.shown, this.more),
      ),
    );
  }

  /** @param {Record<string, string>} fields */
  async open(fields) {
    await this.refresh(fields.collection ?? this.collection.value ?? "default");
    if (!fields.map || !this.collection.value) return;
    this.field.value = fields.color ?? "";
    await this.drawMap();
  }

  /** @param {string} chosen */
  async refresh(chosen) {
    const { collections } = await get("collections");
    this.known = collections;
    setChoices(
      this.collection,
      collections.map((/** @type {any} */ each) => [each.name, `${each.name} (${grouped(each.count)})`]),
      chosen,
    );
    await this.show();
  }

  async show() {
    writeState("collection", { collection: this.collection.value });
    fill(this.groups);
    fill(this.map);
    this.toMap.disabled = true;
    const one = this.known.find((/** @type {any} */ each) => each.name === this.collection.value);
    if (!one) {
      fill(
        this.about,
        element("p", { class: "empty" }, "There is no collection yet. "),
        button("Add the sample: 200 answers of a help center", () => this.addSample()),
      );
      fill(this.list);
      fill(this.shown);
      this.more.hidden = true;
      return;
    }
    const facts = [
      ["Documents", grouped(one.count)],
      ["Passages", grouped(one.passages?.count ?? one.count)],
      ["Model", one.model],
      ["Measure", one.measure],
      ["Dimensions", String(one.dim)],
      ["Index", one.index],
      ["Token codes", one.tokens],
      ["Memory", `about ${grouped(Math.round((one.bytes_per_document * one.count) / 1000))} kB`],
    ];
    fill(
      this.about,
      element(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
      ),
    );
    fill(this.list);
    this.cursor = null;
    const [fields] = await Promise.all([metadataFields(one.name), this.nextPage(null)]);
    const choices = fields.map((field) => /** @type {[string, string]} */ ([field, field]));
    setChoices(this.field, [...choices, ["", "nothing"]], fields[0] ?? "");
    this.toMap.disabled = false;
  }

  async drawMap() {
    const name = this.collection.value;
    writeState("collection", { collection: name, map: "shown", color: this.field.value });
    const { DocumentMap } = await import("./map.js");
    const box = element("div"); // its own, so that an answer that comes late is not shown
    fill(this.map, box);
    await new DocumentMap(box, name, this.field.value).show();
  }

  /** @param {string | null} cursor */
  async nextPage(cursor) {
    const name = this.collection.value;
    const page = await post(`${collectionPath(name)}/list`, { limit: PAGE, cursor });
    if (name !== this.collection.value || cursor !== this.cursor) return; // chosen, or clicked, in the meantime
    this.list.append(...page.documents.map(documentRow));
    this.cursor = page.cursor;
    fill(this.shown, `${grouped(this.list.children.length)} shown`);
    this.more.hidden = !page.cursor;
  }

  async addSample() {
    const file = await send("GET", new URL("./sample/help_centre.jsonl", import.meta.url).href, { accept: "*/*" });
    this.name.value = "default";
    await this.index(new File([await file.blob()], "help_centre.jsonl"));
  }

  /** @param {HTMLButtonElement} asked */
  async duplicates(asked) {
    asked.disabled = true;
    fill(this.groups, element("p", { class: "faint" }, "Searching …"));
    const listed = element("ol", { class: "hit-list" });
    const said = element("p", { class: "faint", role: "status" });
    try {
      const body = { min_score: Number(this.least.value), explain: true };
      const path = `${collectionPath(this.collection.value)}/duplicates`;
      const answer = await send("POST", path, { body, accept: "application/x-ndjson" });
      fill(this.groups, said, listed);
      let groups = 0;
      for await (const line of linesOf(answer)) {
        if (line.done === undefined) {
          listed.append(...line.groups.map(groupRow));
          groups += line.groups.length;
          said.textContent = `${grouped(groups)} groups among ${grouped(line.checked)} documents so far.`;
        } else {
          said.textContent = line.done ? `${grouped(line.groups)} groups.` : `Stopped: ${line.detail}`;
        }
      }
    } catch (error) {
      fill(this.groups);
      throw error;
    } finally {
      asked.disabled = false;
    }
  }

  /**
   * Add the documents of a file, batch by batch.
   * @param {File} file
   */
  async index(file) {
    const name = this.name.value.trim();
    if (!this.name.checkValidity() || !name) {
      fill(this.progress, element("p", { class: "refused" }, "Name the collection: letters, digits, dots and dashes."));
      return;
    }
    const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress" });
    const said = element("p", { class: "faint" });
    fill(this.progress, bar, said);
    try {
      const documents = readDocuments(await file.text(), file.name);
      if (!this.known.some((/** @type {any} */ each) => each.name === name))
        await send("PUT", collectionPath(name), { body: {} });
      let stored = 0;
      const refused = [];
      for (const lines of batches(documents)) {
        const answer = await send("POST", `${collectionPath(name)}/documents`, { lines: lines.join("") });
        for await (const line of linesOf(answer)) if (line.errors) refused.push(...line.errors);
        stored += lines.length;
        bar.value = stored / documents.length;
        said.textContent = `${grouped(stored)} of ${grouped(documents.length)} documents`;
      }
      const left = refused.length
        ? `; ${grouped(refused.length)} refused, such as: ${refused[0].detail ?? JSON.stringify(refused[0])}`
        : "";
      said.textContent = `${grouped(stored - refused.length)} documents stored in ${name}${left}.`;
      announce(said.textContent);
      await this.refresh(name);
    } catch (error) {
      fill(this.progress, element("p", { class: "refused" }, error instanceof Error ? error.message : String(error)));
    }
  }
}

/**
 * Lines of documents, in requests of bounded size.
 * @param {Record<string, unknown>[]} documents
 */
function* batches(documents) {
  /** @type {string[]} */
  let lines = [];
  let chars = 0;
  for (const each of documents) {
    const line = `${JSON.stringify(each)}\n`;
    if (lines.length && (lines.length >= BATCH_LINES || chars + line.length > BATCH_CHARS)) {
      yield lines;
      [lines, chars] = [[], 0];
    }
    lines.push(line);
    chars += line.length;
  }
  if (lines.length) yield lines;
}

/** @param {any} each */
function documentRow(each) {
  return element(
    "li",
    {},
    element("strong", {}, each.id),
    element("p", { dir: "auto" }, each.text),
    element("span", { class: "faint" }, metadataText(each.metadata)),
  );
}

/** @param {any} group */
function groupRow(group) {
  return element(
    "li",
    { class: "card" },
    group.documents.map((/** @type {any} */ each) => {
      const why = each.explanation;
      const words = why
        ? why.links
            .slice(0, SHOWN_WORDS)
            .map(
              (/** @type {any} */ link) =>
                `${why.a.tokens[link.a].text} = ${why.b.tokens[link.b].text} ${signed(link.contribution)}`,
            )
        : [];
      return element(
        "p",
        {},
        element("strong", {}, each.id),
        each.like
          ? element("span", { class: "faint" }, ` ${plain(each.score)} with ${each.like}: ${words.join(", ")}`)
          : null,
        element("br"),
        element("span", { dir: "auto" }, each.text),
      );
    }),
  );
}
