// @ts-check
// Documents from files: CSV and TSV with a header, JSON lines, or plain lines.

/**
 * The documents of a file.
 * @param {string} content
 * @param {string} name
 * @returns {Record<string, unknown>[]}
 */
export function readDocuments(content, name) {
  const text = content.replace(/^\uFEFF/, "");
  const kind = name.split(".").at(-1)?.toLowerCase();
  const rows =
    kind === "jsonl" || kind === "ndjson"
      ? jsonLines(text)
      : kind === "txt"
        ? plainLines(text)
        : table(text, kind === "tsv" ? "\t" : ",");
  if (!rows.length) throw new Error(`${name} has no documents.`);
  const missing = rows.findIndex((row) => typeof row.text !== "string" || row.text === "");
  if (missing >= 0)
    throw new Error(`Document ${missing + 1} of ${name} has no text: name that column or field "text".`);
  return rows.map((row, i) => asDocument(row, `${name}-${i + 1}`));
}

/**
 * @param {Record<string, unknown>} row
 * @param {string} otherwise id of a row without one
 */
function asDocument({ id, text, metadata, ...fields }, otherwise) {
  return {
    id: id === undefined || id === "" ? otherwise : String(id),
    text,
    metadata: typeof metadata === "object" && metadata !== null ? { ...metadata, ...fields } : fields,
  };
}

/** @param {string} text */
function jsonLines(text) {
  return text
    .split("\n")
    .map((line, i) => ({ line, number: i + 1 }))
    .filter(({ line }) => line.trim())
    .map(({ line, number }) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(`Line ${number} is not JSON.`);
      }
    });
}

/** @param {string} text */
const plainLines = (text) =>
  text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => ({ text: line.trim() }));

/**
 * Rows of a table with a header; RFC 4180, so quoted fields may hold separators, quotes and line breaks.
 * @param {string} text
 * @param {string} separator
 */
export function table(text, separator) {
  /** @type {string[][]} */
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    const row = /** @type {string[]} */ (rows.at(-1));
    const last = row.length - 1;
    if (quoted) {
      if (character !== '"') row[last] += character;
      else if (text[i + 1] === '"') row[last] += text[++i];
      else quoted = false;
    } else if (character === '"' && row[last] === "") quoted = true;
    else if (character === separator) row.push("");
    else if (character === "\n") rows.push([""]);
    else if (character !== "\r") row[last] += character;
  }
  const [header, ...body] = rows.filter((row) => row.length > 1 || row[0] !== "");
  return body.map((row) => Object.fromEntries((header ?? []).map((name, i) => [name.trim(), row[i] ?? ""])));
}
