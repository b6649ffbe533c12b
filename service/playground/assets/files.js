// @ts-check
// Documents from files, by the rules of `semblance index` (docs/documents.md), and from plain lines.

/** @typedef {{line: number, document: Record<string, unknown>}} Row */
/** @typedef {{line: number, detail: string}} Problem why a row is no document */
/** @typedef {(text: string) => unknown} Cast */
/** @typedef {{line: number, fields: Map<string, any>, casts?: Map<string, Cast>}} Source a row as the file has it */
/** @typedef {{id: unknown, line: number, former: number}} Repeated a row with the id of a former one */
/** @typedef {{sources: (Source | Problem)[], unnamed?: number[]}} Content rows, and columns with values but no name */

/** @type {Record<string, (text: string) => Content>} */
const READERS = {
  csv: csvTable,
  json: jsonLines,
  jsonl: jsonLines,
  ndjson: jsonLines,
  tab: tsvTable,
  tsv: tsvTable,
  txt: plainLines,
};
export const SUFFIXES = Object.keys(READERS).map((each) => `.${each}`);
const SEPARATORS = [",", ";", "\t"]; // of CSV
const IDS = ["id", "_id"]; // the second as in BEIR
const INTEGER = /^-?(0|[1-9]\d{0,14})$/; // more digits may be lost
const DIGITS = /^-?\d+$/;
const NUMBER = /^-?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/;

/**
 * The documents of a file, the rows that are none, those with the id of a former one, which they replace, and the
 * numbers of columns that are left out because they have no name.
 * @param {ArrayBuffer} content
 * @param {string} name
 * @returns {{rows: Row[], refused: Problem[], repeated: Repeated[], unnamed: number[]}}
 */
export function readDocuments(content, name) {
  const suffix = /\.([^.]*)$/.exec(name)?.[1].toLowerCase() ?? "";
  const read = Object.hasOwn(READERS, suffix) ? READERS[suffix] : null;
  if (!read) throw new Error(`files that end in ${SUFFIXES.join(", ")} are read here, and more by “semblance index”.`);
  /** @type {Map<unknown, Row>} */
  const byId = new Map();
  /** @type {Problem[]} */
  const refused = [];
  /** @type {Repeated[]} */
  const repeated = [];
  const { sources, unnamed = [] } = read(decoded(content));
  for (const source of sources) {
    const row = "detail" in source ? source : asDocument(source, name);
    if ("detail" in row) refused.push(row);
    else {
      const { id } = row.document;
      const former = byId.get(id);
      if (former) repeated.push({ id, line: row.line, former: former.line });
      byId.set(id, row);
    }
  }
  if (!sources.length) throw new Error("the file has no documents.");
  return { rows: [...byId.values()], refused, repeated, unnamed };
}

/** @param {ArrayBuffer} content */
function decoded(content) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw new Error("the file is not UTF-8: save it as UTF-8.");
  }
  if (text.includes("\r") && !text.includes("\n"))
    throw new Error("lines end with a carriage return alone: save the file with other line ends.");
  return text;
}

/**
 * A row as a document; what the service refuses is left to it.
 * @param {Source} source
 * @param {string} file
 * @returns {Row | Problem}
 */
function asDocument({ line, fields, casts }, file) {
  if (!fields.has("text")) return { line, detail: `no field is named text; the fields are ${list(fields.keys())}` };
  const texts = fields.has("title") ? ["title", "text"] : ["text"];
  const other = texts.find((name) => typeof fields.get(name) !== "string" && fields.get(name) !== null);
  if (other) return { line, detail: `${other} must be a text` };
  const idName = IDS.find((name) => ![undefined, null, ""].includes(fields.get(name)));
  const id = idName ? fields.get(idName) : `${file}:${line}`;
  const unused = IDS.filter((name) => fields.get(name) === "");
  const used = new Set([...texts, ...unused, idName]);
  const nested = isObject(fields.get("metadata")) ? fields.get("metadata") : null;
  if (nested) used.add("metadata");
  const metadata = new Map(Object.entries(nested ?? {}));
  for (const [name, value] of fields) {
    if (used.has(name) || value === null || (casts && !value.trim())) continue;
    if (metadata.has(name)) return { line, detail: `${name} is both a field of the row and of its metadata` };
    metadata.set(name, casts?.get(name)?.(value) ?? value);
  }
  const text = texts
    .map((name) => fields.get(name))
    .filter(Boolean)
    .join(" ");
  const document = { id: Number.isInteger(id) ? String(id) : id, text, metadata: Object.fromEntries(metadata) };
  return { line, document };
}

/** @param {unknown} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {Iterable<string>} names */
const list = (names) => [...names].join(", ");

/**
 * @param {string} text
 * @returns {Content}
 */
function jsonLines(text) {
  if (/^\s*\[/.test(text))
    throw new Error("the file is one JSON list: write one object a line, as “jq -c '.[]'” does.");
  return { sources: numbered(text).map(({ line, content }) => jsonLine(content, line)) };
}

/**
 * @param {string} content
 * @param {number} line
 * @returns {Source | Problem}
 */
function jsonLine(content, line) {
  try {
    const value = JSON.parse(content, exact);
    if (isObject(value)) return { line, fields: new Map(Object.entries(value)) };
    return { line, detail: "it is not a JSON object" };
  } catch (error) {
    return { line, detail: error instanceof RangeError ? error.message : "it is not JSON" };
  }
}

/**
 * Refuse numbers that would lose digits, such as long ids.
 * @param {string} name
 * @param {unknown} value
 */
function exact(name, value) {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`${name} has more digits than a browser keeps: put it in quotes`);
  return value;
}

/**
 * Lines that are not blank.
 * @param {string} text
 */
const numbered = (text) =>
  text
    .split(/\r?\n/)
    .map((content, i) => ({ line: i + 1, content }))
    .filter(({ content }) => content.trim());

/**
 * @param {string} text
 * @returns {Content}
 */
function plainLines(text) {
  return {
    sources: numbered(text).map(({ line, content }) => ({ line, fields: new Map([["text", content.trim()]]) })),
  };
}

/** @param {string} text */
function tsvTable(text) {
  return table(numbered(text).map(({ line, content }) => ({ line, cells: content.split("\t") })));
}

/** @param {string} text */
function csvTable(text) {
  const [first] = text.split("\n", 1);
  const count = (/** @type {string} */ separator) => first.split(separator).length;
  return table(
    csvRows(
      text,
      SEPARATORS.reduce((most, each) => (count(each) > count(most) ? each : most)),
    ),
  );
}

/**
 * Rows of CSV; quoted fields may hold separators, line ends, which are kept as they are, and, doubled, quotes.
 * @param {string} text
 * @param {string} separator
 */
function csvRows(text, separator) {
  const rows = [];
  /** @type {string[]} */
  let cells = [];
  let cell = "";
  let line = 1;
  let begun = 1;
  let state = /** @type {"start" | "plain" | "quoted" | "closed"} */ ("start");
  const ended = text.endsWith("\n") ? text : `${text}\n`;
  for (let i = 0; i < ended.length; i++) {
    const character = ended[i];
    if (state !== "quoted" && character === "\r" && ended[i + 1] === "\n") continue;
    if (character === "\n") line++;
    if (state === "quoted") {
      if (character === '"') state = "closed";
      else cell += character;
    } else if (character === '"' && state !== "plain") {
      if (state === "closed") cell += character;
      state = "quoted";
    } else if (character === separator || character === "\n") {
      const isBlank = state === "start" && !cells.length && character === "\n";
      cells.push(cell);
      [cell, state] = ["", "start"];
      if (character !== "\n") continue;
      if (!isBlank) rows.push({ line: begun, cells });
      [cells, begun] = [[], line];
    } else if (state === "closed") {
      throw new Error(`line ${begun}: close every quote, and double those inside of a quoted field.`);
    } else if (character === "\r") {
      throw new Error(`line ${begun}: a carriage return stands outside of quotes.`);
    } else {
      cell += character;
      state = "plain";
    }
  }
  if (state === "quoted") throw new Error(`line ${begun}: a quote is not closed.`);
  return rows;
}

/**
 * Rows below a header, by the names of their columns; columns without a name, such as row numbers, are left out. Empty
 * cells at the end of a row may be more or fewer than columns without a name, as spreadsheets write them.
 * @param {{line: number, cells: string[]}[]} rows
 * @returns {Content}
 */
function table([header, ...rows]) {
  const names = header?.cells.map((each) => each.trim()) ?? [];
  const twice = names.find((name, i) => name && names.indexOf(name) < i);
  if (twice) throw new Error(`two columns are named ${twice}.`);
  const nameless = names.flatMap((name, i) => (name ? [] : [i]));
  if (!names.includes("text")) {
    const unnamed = nameless.length ? `; columns without a name: ${list(nameless.map((i) => `${i + 1}`))}` : "";
    throw new Error(`no column is named text; the columns are ${list(names.filter(Boolean))}${unnamed}.`);
  }
  for (const { line, cells } of rows)
    if (names.slice(cells.length).some(Boolean) || cells.slice(names.length).some((cell) => cell.trim()))
      throw new Error(`line ${line}: ${cells.length} fields, but the first line names ${names.length} columns.`);
  const casts = new Map(names.map((name, i) => [name, castOf(rows.map(({ cells }) => (cells[i] ?? "").trim()))]));
  const sources = rows.map(({ line, cells }) => ({
    line,
    fields: new Map(names.flatMap((name, i) => (name ? [[name, cells[i]]] : []))),
    casts,
  }));
  const unnamed = nameless.filter((i) => rows.some(({ cells }) => cells[i]?.trim())).map((i) => i + 1);
  return { sources, unnamed };
}

/**
 * How to convert the values of a column: to numbers or booleans if all are, apart from empty ones.
 * @param {string[]} values
 * @returns {Cast}
 */
function castOf(values) {
  const given = values.filter(Boolean);
  if (given.every(isNumber)) return Number;
  const isBoolean = given.every((each) => /^(true|false)$/i.test(each));
  return isBoolean ? (each) => each.trim().toLowerCase() === "true" : (each) => each;
}

/** @param {string} text */
const isNumber = (text) =>
  INTEGER.test(text) || (NUMBER.test(text) && !DIGITS.test(text) && Number.isFinite(Number(text)));
