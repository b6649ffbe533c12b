// @ts-check
// Files into a collection: the service reads them, the page shows what it read, and sends the documents.

import { collectionPath, get, linesOf, post, send } from "./api.js";
import { NAME_PATTERN, NAME_RULE } from "./collections.js";
import {
  announce,
  beginning,
  button,
  clearMessage,
  counted,
  element,
  fill,
  grouped,
  isolated,
  labeled,
  menu,
} from "./dom.js";
import { metadataText } from "./hit.js";
import { problemLines } from "./problems.js";
import { hashOf } from "./state.js";

const SUFFIXES =
  ".csv,.tsv,.tab,.txt,.json,.jsonl,.ndjson,.parquet,.md,.markdown,.html,.htm,.xhtml,.rst,.pdf,.docx,.gz";
const PREVIEWED = 5; // documents
const SHOWN_CHARS = 160; // of a text in the preview
const ENDS = [...SUFFIXES.split(","), ".xlsx"]; // the last has a message of its own
const REQUEST_BYTES = 45_000_000; // of files: base64 makes a third more of them, and the service takes 64 MiB
const REQUEST_FILES = 200;
const BATCH_LINES = 200; // of a request with documents
const BATCH_CHARS = 500_000;
const REPEATED = "with the id of an earlier row, which it replaces";
const NO_COLUMNS = "has no columns: its first row must name them.";
const BLANK = { code: "empty_text", detail: "" };
const LOST_DIGITS = { code: "lost_digits", detail: "a number has more digits than a browser keeps: put it in quotes" };
const NO_DOCUMENT = "There is nothing to add.";
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}]/u; // as in models/text.py
/** @type {[string, string][]} */
const ENCODINGS = [
  ["utf-8", "Unicode (UTF-8)"],
  ["cp1252", "Western European (Windows-1252)"],
  ["cp1250", "Central European (Windows-1250)"],
  ["cp1251", "Cyrillic (Windows-1251)"],
  ["cp1253", "Greek (Windows-1253)"],
  ["cp1254", "Turkish (Windows-1254)"],
  ["cp1255", "Hebrew (Windows-1255)"],
  ["cp1256", "Arabic (Windows-1256)"],
  ["cp932", "Japanese (Shift JIS)"],
  ["gb18030", "Chinese (GB 18030)"],
  ["big5hkscs", "Chinese (Big5)"],
  ["cp949", "Korean (Windows-949)"],
  ["mac-roman", "Mac Roman"],
  ["cp850", "DOS (850)"],
  ["utf-16", "Unicode (UTF-16)"],
];
/** @type {[string, string][]} */
const SEPARATORS = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "bar"],
];
/** @type {[string, string][]} */
const UNITS = [
  ["lines", "each line"],
  ["text", "the whole file"],
];

/** @typedef {import("./problems.js").Problem} Problem */
/** @typedef {{place: string, document: any}} Row */
/** @typedef {{format?: string, encoding?: string, separator?: string, text_fields?: string[], id_field?: string | null}} Reading */
/** @typedef {{files: any[], rows: Row[], refused: Problem[], repeated: Problem[]}} Content what was read */
/** @typedef {{sent: number, refused: Problem[], warned: Problem[]}} Outcome of the documents */

/** The section that adds documents. */
export class Import {
  /**
   * @param {() => any[]} known the collections
   * @param {(name: string) => unknown} onStored called after documents were stored in a collection
   */
  constructor(known, onStored) {
    this.known = known;
    this.onStored = onStored;
    /** @type {File[]} */
    this.files = [];
    /** @type {Problem[]} files of a kind that is not read */
    this.unread = [];
    /** @type {Reading} */
    this.reading = {};
    this.name = element("input", { name: "name", value: "mine", pattern: NAME_PATTERN, autocomplete: "off" });
    this.existing = element("span", { class: "faint", role: "status" });
    this.name.addEventListener("input", () => this.sayExisting());
    this.choose = element("input", { type: "file", accept: SUFFIXES, multiple: true, class: "visually-hidden" });
    this.folder = element("input", { type: "file", webkitdirectory: true, class: "visually-hidden" });
    this.preview = element("div");
    this.progress = element("div", { "aria-live": "polite" });
    this.section = element(
      "section",
      { class: "card drop", "aria-label": "Add documents" },
      element("h2", {}, "Add documents"),
      element(
        "p",
        { class: "faint" },
        "Drop files here, or choose some: tables (.csv, .tsv, .json, .parquet) with a document in each row, or pages " +
          "(.md, .html, .txt, .pdf, .docx).",
      ),
      element(
        "div",
        { class: "toolbar" },
        element("label", { class: "button" }, "Choose files", this.choose),
        element("label", { class: "button" }, "Choose a folder", this.folder),
      ),
      this.preview,
      this.progress,
    );
    for (const input of [this.choose, this.folder])
      input.addEventListener("change", async () => {
        await this.open([...input.files]);
        input.value = ""; // so that the same file can be chosen again
      });
    this.section.addEventListener("dragover", (/** @type {DragEvent} */ event) => event.preventDefault());
    this.section.addEventListener("drop", async (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      await this.open(await droppedFiles(event));
    });
  }

  /**
   * Read files, and show what was read.
   * @param {File[]} files
   */
  async open(files) {
    const seen = files.filter(
      (each) =>
        !pathOf(each)
          .split("/")
          .some((part) => part.startsWith(".")),
    );
    const isRead = (/** @type {File} */ { name }) => ENDS.some((end) => name.toLowerCase().endsWith(end));
    this.files = seen.filter(isRead);
    this.unread = seen.filter((each) => !isRead(each)).map(unreadFile);
    if (!this.files.length) {
      fill(this.preview);
      fill(this.progress, problemLines("left out", this.unread));
      return;
    }
    this.reading = {};
    this.name.value = nameFor(fullPath(this.files[0]), this.files.length);
    await this.read();
  }

  /**
   * Store the documents of a file without asking anything.
   * @param {File} file
   * @param {string} name of the collection
   */
  async add(file, name) {
    this.files = [file];
    this.unread = [];
    this.name.value = name;
    await this.store(await readFiles(this.files, {}));
  }

  async read() {
    fill(this.preview);
    fill(this.progress, element("p", { class: "faint" }, `Reading ${counted(this.files.length, "file")} …`));
    try {
      const content = await readFiles(this.files, this.reading);
      fill(this.progress);
      this.show(content);
    } catch (error) {
      this.fail(error, 0);
    }
  }

  /** @param {Content} content */
  show(content) {
    const { files, rows, refused, repeated } = content;
    const [only] = files.length === 1 ? files : [];
    const add = button(`Add ${counted(rows.length, "document")}`, () => this.store(content), { class: "primary" });
    const adding = element("div", { class: "toolbar" }, labeled("Into the collection", this.name), add, this.existing);
    fill(
      this.preview,
      element("p", {}, element("strong", {}, isolated(titleOf(files))), `: ${saidOf(content)}`),
      rows.length ? adding : element("p", { class: "refused" }, NO_DOCUMENT),
      only ? this.choices(only) : null,
      problemLines("left out", [...this.unread, ...refused]),
      problemLines(REPEATED, repeated),
      rows.length ? previewTable(rows.slice(0, PREVIEWED)) : null,
    );
    this.sayExisting();
    adding.scrollIntoView({ block: "nearest" });
    announce(`${counted(rows.length, "document")} read.`);
  }

  /** Say what becomes of a collection that is there. */
  sayExisting() {
    const known = this.known().find((each) => each.name === this.name.value.trim());
    const said = known && `It exists, with ${counted(known.count, "document")}: those with the same ids are replaced.`;
    fill(this.existing, said);
  }

  /**
   * Menus for how one file is read.
   * @param {any} file
   */
  choices(file) {
    const change = (/** @type {Reading} */ reading) => {
      Object.assign(this.reading, reading);
      return this.read();
    };
    const select = (
      /** @type {string} */ name,
      /** @type {[string, string][]} */ choices,
      /** @type {string} */ chosen,
      /** @type {(value: string) => Reading} */ asReading,
    ) => {
      const known = choices.some(([value]) => value === chosen)
        ? choices
        : [/** @type {[string, string]} */ ([chosen, chosen]), ...choices];
      const made = menu(known, chosen);
      made.addEventListener("change", () => change(asReading(made.value)));
      return labeled(name, made);
    };
    const texts = file.text_fields.length
      ? file.text_fields
      : ["title", "text"].filter((each) => file.columns?.includes(each));
    const id = file.id_field ?? ["id", "_id"].find((each) => file.columns?.includes(each)) ?? "";
    return element(
      "div",
      { class: "toolbar" },
      file.columns &&
        ["csv", "tsv", "json", "jsonl", "parquet"].includes(file.format) && [
          textMenu(file.columns, texts, (chosen) => change({ text_fields: chosen, id_field: id || null })),
          select(
            "Id",
            [["", "file and line"], ...file.columns.map((/** @type {string} */ each) => [each, each])],
            id,
            (value) => ({
              id_field: value || null,
              text_fields: texts,
            }),
          ),
        ],
      file.encoding && select("Encoding", ENCODINGS, file.encoding, (encoding) => ({ encoding })),
      file.separator && select("Separated by", SEPARATORS, file.separator, (separator) => ({ separator })),
      ["lines", "text"].includes(file.format) && select("A document is", UNITS, file.format, (format) => ({ format })),
    );
  }

  /**
   * Store documents, and say what became of them.
   * @param {Content} content
   */
  async store({ files, rows, refused, repeated }) {
    const name = this.name.value.trim();
    if (!this.name.checkValidity() || !name) {
      fill(this.progress, element("p", { class: "refused" }, `${NAME_RULE}: change “Into the collection”.`));
      return;
    }
    const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress" });
    const said = element("p", { class: "faint" });
    fill(this.preview);
    fill(this.progress, bar, said);
    /** @type {Outcome} */
    const outcome = { sent: 0, refused: [...refused], warned: [] };
    try {
      const isNew = !this.known().some((each) => each.name === name);
      if (isNew) await send("PUT", collectionPath(name), { body: {} });
      const before = await countOf(name);
      for (const batch of batches(rows)) {
        await sendBatch(name, batch, outcome);
        bar.value = outcome.sent / rows.length;
        said.textContent = `${grouped(outcome.sent)} of ${counted(rows.length, "document")}`;
      }
      const stored = outcome.sent - (outcome.refused.length - refused.length);
      const replaced = before + stored - (await countOf(name));
      if (isNew && !stored) await send("DELETE", collectionPath(name));
      const former = replaced
        ? ` ${replaced < stored ? grouped(replaced) : "All"} of them replaced one with the same id.`
        : "";
      said.textContent = `${titleOf(files)}: ${counted(stored, "document")} stored in ${name}.${former}`;
      fill(
        this.progress,
        element("p", { class: "toolbar" }, said, stored ? searchLink(name) : null),
        problemLines("left out", [...this.unread, ...outcome.refused]),
        problemLines("stored with a warning", outcome.warned),
        problemLines(REPEATED, repeated),
      );
      announce(said.textContent);
      clearMessage();
      await this.onStored(name);
    } catch (error) {
      this.fail(error, outcome.sent);
    }
  }

  /**
   * @param {unknown} error
   * @param {number} sent documents that were stored before
   */
  fail(error, sent) {
    const reason = error instanceof Error ? error.message : String(error);
    const after = sent ? ` (after ${counted(sent, "document")})` : "";
    fill(this.progress, element("p", { class: "refused" }, `${titleOf(this.files)}${after}: ${reason}`));
  }
}

/** @param {string} name */
const searchLink = (name) =>
  element("a", { class: "button", href: hashOf("search", { collection: name }) }, "Search it");

/** @param {string} name */
const countOf = async (name) => (await get(collectionPath(name))).count;

/**
 * The path of a file, which begins with the folder that was chosen.
 * @param {any} file
 * @returns {string}
 */
const fullPath = (file) => file.droppedPath || file.webkitRelativePath || file.name;

/**
 * The path of a file in the folder that was chosen, as “semblance index” names it.
 * @param {any} file
 */
const pathOf = (file) =>
  file.webkitRelativePath || file.ofOneFolder ? fullPath(file).replace(/^[^/]*\//, "") : fullPath(file);

/**
 * @param {File} file
 * @returns {Problem}
 */
const unreadFile = (file) => ({
  place: pathOf(file),
  detail: `${file.type.startsWith("image/") ? "pictures" : "files of this kind"} are not read`,
});

/** @param {any[]} files */
function titleOf(files) {
  return files.length === 1 ? files[0].name : counted(files.length, "file");
}

/**
 * A name for a collection, by that of a file or its folder.
 * @param {string} path
 * @param {number} count
 */
function nameFor(path, count) {
  const [first] = path.split("/");
  const stem = (path.includes("/") || count === 1 ? first : "mine").replace(/(\.[a-z0-9]+)+$/i, "");
  const plain = stem.toLowerCase().replace(/[^a-z0-9._-]+/g, "-");
  return plain.replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "").slice(0, 64) || "mine";
}

/** @param {Content} content */
function saidOf({ files, rows, refused }) {
  const unnamed = files.flatMap((each) => each.unnamed);
  const nameless = unnamed.length ? ` Columns without a name are left out: ${unnamed.join(", ")}.` : "";
  const bad = refused.length ? `, ${grouped(refused.length)} left out` : "";
  return `${counted(rows.length, "document")}${bad}.${nameless}`;
}

/**
 * Choose the fields of the text, in the order of the columns.
 * @param {string[]} columns
 * @param {string[]} chosen
 * @param {(chosen: string[]) => unknown} onChange
 */
function textMenu(columns, chosen, onChange) {
  const boxes = columns.map((name) => {
    const box = element("input", { type: "checkbox", value: name, checked: chosen.includes(name) });
    box.addEventListener("change", () => {
      const now = boxes
        .filter((each) => each.querySelector("input").checked)
        .map((each) => each.querySelector("input").value);
      if (now.length) onChange(now);
      else box.checked = true; // a text has at least one field
    });
    return element("label", { class: "choice" }, box, " ", isolated(name));
  });
  return element("fieldset", { class: "fields" }, element("legend", {}, "Text"), boxes);
}

/** @param {Row[]} rows */
function previewTable(rows) {
  const others = rows.some(({ document }) => Object.keys(document.metadata ?? {}).length);
  const names = ["Id", "Text", ...(others ? ["Other fields"] : [])];
  const heads = names.map((name) => element("th", { scope: "col" }, name));
  const lines = rows.map(({ document }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, isolated(String(document.id))),
      element("td", { dir: "auto" }, beginning(document.text ?? "", SHOWN_CHARS)),
      others ? element("td", { class: "faint" }, metadataText(document.metadata)) : null,
    ),
  );
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "First documents" },
    element("table", { class: "preview" }, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, lines)),
  );
}

/**
 * Files and those of folders that were dropped.
 * @param {DragEvent} event
 * @returns {Promise<File[]>}
 */
async function droppedFiles(event) {
  const entries = [...(event.dataTransfer?.items ?? [])].map((each) => each.webkitGetAsEntry());
  const ofOneFolder = entries.length === 1 && entries[0]?.isDirectory;
  const files = (await Promise.all(entries.map((each) => (each ? filesBelow(each) : [])))).flat();
  return files.map((each) => Object.assign(each, { ofOneFolder }));
}

/**
 * @param {any} entry of a file or folder
 * @returns {Promise<File[]>}
 */
async function filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [Object.assign(file, { droppedPath: entry.fullPath.replace(/^\//, "") })];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // a browser lists a hundred at a time, and none at the end
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map(filesBelow))).flat();
}

/**
 * What the service reads of files.
 * @param {File[]} files
 * @param {Reading} reading
 * @returns {Promise<Content>}
 */
async function readFiles(files, reading) {
  /** @type {Content} */
  const content = { files: [], rows: [], refused: [], repeated: [] };
  /** @type {Map<unknown, Row>} */
  const byId = new Map();
  for (const some of requestsOf(files)) {
    const sent = await Promise.all(some.map(async (each) => ({ name: pathOf(each), content: await base64(each) })));
    const as = files.length > some.length && !reading.format && some.length === 1 ? { format: formatIn(some[0]) } : {};
    const found = await post("files", { files: sent, ...as, ...reading });
    for (const file of found.files) {
      content.files.push(file);
      if (file.columns?.length === 0) file.problems = [{ ...file.problems[0], detail: `${file.name} ${NO_COLUMNS}` }];
      countRows(file);
      const at = (/** @type {string} */ place) => (files.length > 1 ? `${file.name} ${place}`.trim() : place);
      for (const each of file.problems) content.refused.push({ ...each, place: at(each.place) });
      for (const { place, ...document } of file.documents) {
        const row = { place: at(place), document };
        const former = byId.get(document.id);
        const isBlank = !VISIBLE.test(document.text ?? "");
        if (isBlank || hasLostDigits(document.metadata)) {
          content.refused.push({ place: row.place, ...(isBlank ? BLANK : LOST_DIGITS) });
          continue;
        }
        if (former) content.repeated.push({ place: row.place, detail: "" });
        byId.set(document.id, row);
      }
    }
  }
  content.rows = [...byId.values()];
  return content;
}

/**
 * Place what was read of a CSV file by the rows of a spreadsheet: cells with line breaks have several lines.
 * @param {any} file
 */
function countRows({ format, documents, problems }) {
  if (format !== "csv") return;
  const lineOf = (/** @type {Row} */ { place }) => Number(place.replace(/\D/g, ""));
  let breaks = 0;
  for (const each of [...documents, ...problems].sort((one, other) => lineOf(one) - lineOf(other))) {
    if (!each.place) continue;
    each.place = `row ${lineOf(each) - breaks}`;
    breaks += [each.text, ...Object.values(each.metadata ?? {})].join("").split("\n").length - 1;
  }
}

/**
 * The format of a single file of several, where a plain text is one document.
 * @param {File} file
 */
const formatIn = (file) => (/\.txt$/i.test(file.name) ? "text" : undefined);

/**
 * Files in requests of bounded size. Throws an error for a file that no request can have.
 * @param {File[]} files
 * @returns {Generator<File[]>}
 */
function* requestsOf(files) {
  /** @type {File[]} */
  let some = [];
  let bytes = 0;
  for (const file of files) {
    if (file.size > REQUEST_BYTES)
      throw new Error(`${pathOf(file)} has more than ${grouped(REQUEST_BYTES / 1e6)} MB: use “semblance index”.`);
    if (some.length && (some.length >= REQUEST_FILES || bytes + file.size > REQUEST_BYTES)) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(file);
    bytes += file.size;
  }
  if (some.length) yield some;
}

/**
 * The bytes of a file in base64.
 * @param {File} file
 * @returns {Promise<string>}
 */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,?/, "")));
    reader.addEventListener("error", () => reject(new Error("the file cannot be read.")));
    reader.readAsDataURL(file);
  });
}

/**
 * Whether a value has a number that lost digits on its way, such as a long id.
 * @param {unknown} value
 * @returns {boolean}
 */
function hasLostDigits(value) {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasLostDigits);
}

/**
 * Send documents, and add to the outcome what became of them.
 * @param {string} collection
 * @param {Batch} batch
 * @param {Outcome} outcome
 */
async function sendBatch(collection, { rows, lines }, outcome) {
  const answer = await send("POST", `${collectionPath(collection)}/documents`, { lines: lines.join("") });
  const placed = (/** @type {any} */ each) => ({
    place: rows[each.line - 1].place,
    code: each.code,
    detail: `${each.pointer.slice(1)}: ${each.detail}`.replace(/^: /, ""),
  });
  for await (const line of linesOf(answer)) {
    if (line.done === false) throw new Error(line.detail);
    outcome.refused.push(...(line.errors ?? []).map(placed));
    outcome.warned.push(...(line.warnings ?? []).map(placed));
  }
  outcome.sent += rows.length;
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
