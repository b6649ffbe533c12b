// @ts-check
// An explanation drawn: its score, a bar that adds up, both texts, a matrix and a table of links.

import { announce, beginning, button, counted, element, fill, notices, plain, signed } from "./dom.js";

/** @typedef {{text: string, start: number, end: number}} Unit */
/** @typedef {{text: string, read_start: number, read_end: number, truncated: boolean, tokens: Unit[]}} Side */
/** @typedef {{a: number, b: number, similarity: number, contribution: number}} Link */
/**
 * @typedef {object} Explanation
 * @property {number} score
 * @property {string} measure
 * @property {string} model
 * @property {Side} a
 * @property {Side} b
 * @property {Link[]} links
 * @property {number} special
 * @property {number} omitted
 * @property {number | null} probability
 * @property {{pointer: string, detail: string}[]} warnings
 */
/** @typedef {{name: string, value: number, kind: string, links: Link[]}} Part `links` of a part that names words */
/** @typedef {Part & {shown: number}} RoundedPart */

const STEPS = 5; // of color, on each side of 0
const SHOWN_LINKS = 6; // in the bar; the rest are one part
const MATRIX_SIDE = 14; // words or sentences of a side in the first matrix; the rest are one row or column
const WORD_SIDE = 40; // in the matrix of words of long texts
const NAME_CHARS = 28; // of a sentence
const WORD_CHARS = 24; // of a word in the bar
const HEAD_CHARS = 15; // of them, before the ellipsis
const MATRIX_NOTE = "First text downward, second across; others are function words, punctuation and weak words.";
const TABLE_ROWS = 200;
const DIGITS = 3;
const words = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="function-words"]'));
const FUNCTION_WORDS = new Set(words?.content.split(" "));

/**
 * The whole card of an explanation.
 * @param {Explanation} shown
 * @param {{bounds: [number | null, number | null]} | undefined} measure
 * @param {Map<string, boolean>} opened which parts are open; kept up to date, so that a later card has the same
 */
export function explanationCard(shown, measure, opened) {
  const parts = rounded(partsOf(shown), shown.score);
  const scale = scaleOf(shown, parts);
  return [
    notices(shown.warnings),
    scoreLine(shown, measure),
    bar(shown, parts),
    texts(shown, scale),
    legend(scale),
    details(shown, scale, opened),
  ].flat();
}

/**
 * The score, its bounds, and what it means.
 * @param {Explanation} shown
 * @param {{bounds: [number | null, number | null]} | undefined} measure
 */
function scoreLine(shown, measure) {
  const [low, high] = measure?.bounds ?? [null, null];
  const inBounds = low !== null && high !== null;
  const words = shown.links.reduce((sum, link) => sum + link.contribution, 0) + shown.omitted;
  const share = shown.score ? Math.round((100 * words) / shown.score) : 0;
  return element(
    "div",
    { class: "score-line" },
    element("output", { class: "score", data: { value: shown.score } }, plain(shown.score)),
    element(
      "div",
      {},
      element("strong", {}, `${shown.measure} by ${shown.model}`),
      element(
        "span",
        { class: "faint" },
        inBounds
          ? `from ${plain(low, 0)} to ${plain(high, 0)}; word matches make ${share} % of it`
          : `${boundsText(low, high)}; word matches make ${share} % of it`,
      ),
      shown.probability === null || shown.probability === undefined
        ? null
        : element(
            "span",
            { class: "probability" },
            `People call such a pair the same in ${Math.round(100 * shown.probability)} of 100 cases.`,
          ),
    ),
    inBounds
      ? element("meter", {
          min: high > 0 ? Math.max(low, 0) : low,
          max: high,
          value: shown.score,
          "aria-label": `Score ${plain(shown.score)} between ${plain(low, 0)} and ${plain(high, 0)}`,
        })
      : null,
  );
}

/**
 * @param {number | null} low
 * @param {number | null} high
 */
function boundsText(low, high) {
  if (low !== null) return `at least ${plain(low, 0)}`;
  return high === null ? "without bounds" : `at most ${plain(high, 0)}`;
}

/**
 * The parts of a score: its strongest pairs of words, all other links, and special tokens.
 * @param {Explanation} shown
 * @returns {Part[]}
 */
export function partsOf(shown) {
  /** @type {Link[]} */
  const small = [];
  /** @type {Map<string, Link[]>} the links of each pair of words, which may occur several times */
  const pairs = new Map();
  for (const link of shown.links) {
    const [a, b] = [shown.a.tokens[link.a], shown.b.tokens[link.b]];
    if (!saysMuch(a) && !saysMuch(b)) {
      small.push(link);
      continue;
    }
    const key = `${a.text}\n${b.text}`.toLowerCase();
    const own = pairs.get(key);
    if (own) own.push(link);
    else pairs.set(key, [link]);
  }
  const sum = (/** @type {Link[]} */ links) => links.reduce((total, link) => total + link.contribution, 0);
  const named = [...pairs.values()]
    .map((links) => ({ name: pairName(shown, links[0]), value: sum(links), kind: "link", links }))
    .sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const parts = named.slice(0, SHOWN_LINKS);
  const others = named.slice(SHOWN_LINKS).reduce((total, each) => total + each.value, 0);
  const rest = (/** @type {string} */ name, /** @type {number} */ value) => ({ name, value, kind: "rest", links: [] });
  if (others) parts.push(rest("other words", others));
  if (small.length) parts.push(rest("function words and punctuation", sum(small)));
  if (shown.omitted) parts.push(rest("weaker links, not shown", shown.omitted));
  if (shown.special) parts.push({ ...rest("special tokens", shown.special), kind: "special" });
  return parts;
}

/**
 * @param {Explanation} shown
 * @param {Link} link
 */
function pairName(shown, link) {
  const [a, b] = [shown.a.tokens[link.a].text, shown.b.tokens[link.b].text];
  return `${shortWord(a)} ${a.toLowerCase() === b.toLowerCase() ? "=" : "~"} ${shortWord(b)}`;
}

/**
 * A word without its middle, if it is long.
 * @param {string} word
 */
function shortWord(word) {
  const points = Array.from(word);
  if (points.length <= WORD_CHARS) return word;
  return `${points.slice(0, HEAD_CHARS).join("")}…${points.slice(HEAD_CHARS - WORD_CHARS + 1).join("")}`;
}

/**
 * Parts with the values that are shown, which sum to the score that is shown.
 * @param {Part[]} parts
 * @param {number} score
 * @returns {RoundedPart[]}
 */
function rounded(parts, score) {
  const values = roundedParts(
    parts.map((part) => part.value),
    score,
  );
  return parts.map((part, i) => ({ ...part, shown: values[i] }));
}

/**
 * Parts rounded so that they sum to the rounded whole: what rounding leaves goes to the largest.
 * @param {number[]} values
 * @param {number} whole
 * @param {number} [digits]
 */
export function roundedParts(values, whole, digits = DIGITS) {
  const unit = 10 ** digits;
  const rounded = values.map((value) => Math.round(value * unit));
  const left = Math.round(whole * unit) - rounded.reduce((sum, each) => sum + each, 0);
  const largest = values.reduce((best, value, i) => (Math.abs(value) > Math.abs(values[best]) ? i : best), 0);
  if (rounded.length) rounded[largest] += left;
  return rounded.map((each) => each / unit);
}

/**
 * The bar whose segments add up to the score, and the sum in words.
 * @param {Explanation} shown
 * @param {RoundedPart[]} parts
 */
function bar(shown, parts) {
  const whole = parts.reduce((sum, part) => sum + Math.abs(part.value), 0) || 1;
  const segments = parts.map((part, i) => {
    const segment = element("div", {
      class: `segment ${part.kind} ${part.value < 0 ? "negative" : "positive"} n${i % 6}`,
      title: `${part.name}: ${signed(part.shown)}`,
    });
    segment.style.flexGrow = String(Math.abs(part.value) / whole);
    return segment;
  });
  const terms = parts.map((part, i) =>
    element(
      "li",
      { class: `${part.kind} ${part.value < 0 ? "negative" : "positive"} n${i % 6}` },
      element("span", { class: "swatch", "aria-hidden": "true" }),
      element("span", { class: "name" }, part.name),
      element("data", { value: part.value, class: "part" }, signed(part.shown)),
    ),
  );
  return element(
    "div",
    { class: "sum" },
    element("div", { class: "bar", "aria-hidden": "true" }, segments),
    element(
      "ul",
      { class: "parts", "aria-label": "Parts of the score" },
      terms,
      element(
        "li",
        { class: "total" },
        element("span", { class: "name" }, "sum"),
        element("data", { value: shown.score }, plain(shown.score)),
      ),
    ),
  );
}

/**
 * One scale for texts and matrix, the sums of words, whether a link lowers the score, and what links have in the bar,
 * where rounding may have changed their last digit.
 * @typedef {{limit: number, a: number[], b: number[], lowers: boolean, inBar: Map<Link, number>}} Scale
 */

/**
 * @param {Explanation} shown
 * @param {RoundedPart[]} parts
 * @returns {Scale}
 */
function scaleOf(shown, parts) {
  const a = shown.a.tokens.map(() => 0);
  const b = shown.b.tokens.map(() => 0);
  for (const link of shown.links) {
    a[link.a] += link.contribution;
    b[link.b] += link.contribution;
  }
  const values = [a, b, shown.links.map((link) => link.contribution)].flat();
  return {
    limit: values.reduce((most, value) => Math.max(most, Math.abs(value)), 0), // too many for arguments of Math.max
    a,
    b,
    lowers: shown.links.some((link) => link.contribution < 0),
    inBar: new Map(parts.filter((part) => part.links.length === 1).map((part) => [part.links[0], part.shown])),
  };
}

/**
 * The contribution of a link as the bar shows it.
 * @param {Link} link
 * @param {Scale} scale
 */
const shownOf = (link, scale) => scale.inBar.get(link) ?? link.contribution;

/**
 * The class of the color of a contribution.
 * @param {number} value
 * @param {Scale} scale
 */
function shade(value, scale) {
  const step = scale.limit ? Math.min(Math.round((STEPS * Math.abs(value)) / scale.limit), STEPS) : 0;
  if (!step) return "shade-0";
  return value < 0 ? `shade-minus-${step}` : `shade-plus-${step}`;
}

/**
 * Both texts with colored words; pointing at a word, or walking to it by arrow keys, shows its partners.
 * @param {Explanation} shown
 * @param {Scale} scale
 */
function texts(shown, scale) {
  const said = element("p", { class: "partners faint", "aria-live": "polite" }, hint());
  /** @type {{a: HTMLElement[], b: HTMLElement[]}} */
  const words = { a: [], b: [] };
  const box = element(
    "div",
    { class: "texts" },
    sideOf(shown.a, "Words of the first text", scale.a, scale, words.a),
    sideOf(shown.b, "Words of the second text", scale.b, scale, words.b),
  );
  connect(shown, scale, words, said);
  return element("div", {}, box, said);
}

const hint = () => "Point at a word, or walk through the words with the arrow keys, to see its partners.";

/**
 * A text with its words; the rest of it, such as spaces and what the model did not read, stays.
 * @param {Side} side
 * @param {string} name
 * @param {number[]} totals
 * @param {Scale} scale
 * @param {HTMLElement[]} words filled
 */
function sideOf(side, name, totals, scale, words) {
  const points = Array.from(side.text); // offsets count code points
  const part = (/** @type {number} */ from, /** @type {number} */ to) => points.slice(from, to).join("");
  /** @type {(string | HTMLElement)[]} */
  const shown = [];
  let at = 0;
  side.tokens.forEach((unit, i) => {
    const start = Math.max(unit.start, at);
    if (start > at) shown.push(unreadIf(part(at, start), at < side.read_start));
    const word = element(
      "span",
      {
        class: `word ${shade(totals[i], scale)}`,
        role: "button",
        tabindex: words.length ? -1 : 0,
        "aria-pressed": "false",
      },
      part(start, unit.end),
      element("span", { class: "visually-hidden" }, ` ${signed(totals[i])}`),
    );
    words.push(word);
    shown.push(word);
    at = Math.max(at, unit.end);
  });
  if (at < points.length) shown.push(unreadIf(part(at, points.length), side.truncated && at >= side.read_end));
  return element(
    "div",
    { role: "group", "aria-label": name },
    element("h2", {}, name),
    element("p", { class: "text", dir: "auto" }, shown),
    side.truncated ? element("p", { class: "faint" }, "The model did not read the grey part.") : null,
  );
}

/**
 * @param {string} text
 * @param {boolean} unread
 */
const unreadIf = (text, unread) => (unread ? element("span", { class: "unread" }, text) : text);

/**
 * Show partners of the word that is pointed at, focused or pinned.
 * @param {Explanation} shown
 * @param {Scale} scale
 * @param {{a: HTMLElement[], b: HTMLElement[]}} words
 * @param {HTMLElement} said
 */
function connect(shown, scale, words, said) {
  /** @type {HTMLElement | null} */
  let pinned = null;
  const all = [...words.a, ...words.b];
  const clear = () => all.forEach((each) => each.classList.remove("partner", "chosen"));

  /** @param {"a" | "b"} side @param {number} i */
  function point(side, i) {
    clear();
    const other = side === "a" ? "b" : "a";
    const links = shown.links.filter((link) => link[side] === i);
    words[side][i].classList.add("chosen");
    links.forEach((link) => words[other][link[other]].classList.add("partner"));
    const strongest = links.slice(0, 3).map((link) => {
      const partner = shown[other].tokens[link[other]].text;
      return `${partner} (similarity ${plain(link.similarity, 2)}, ${signed(shownOf(link, scale))})`;
    });
    const word = shown[side].tokens[i].text;
    const none = shown.omitted
      ? "is in none of the links that are shown, which are the strongest"
      : "adds nothing to the score by itself";
    said.textContent = `“${word}” ${strongest.length ? `is linked with ${strongest.join(", ")}` : none}.`;
  }

  for (const side of /** @type {const} */ (["a", "b"])) {
    words[side].forEach((word, i) => {
      word.addEventListener("pointerenter", () => pinned || point(side, i));
      word.addEventListener("focus", () => point(side, i));
      word.addEventListener("pointerleave", () => {
        if (!pinned) clear();
      });
      const pin = () => {
        pinned?.setAttribute("aria-pressed", "false");
        pinned = pinned === word ? null : word;
        pinned?.setAttribute("aria-pressed", "true");
        point(side, i);
      };
      word.addEventListener("click", pin);
      word.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        const to =
          event.key === "Home"
            ? words[side][0]
            : event.key === "End"
              ? words[side].at(-1)
              : words[side][i + (step ?? NaN)];
        if (event.key === "Enter" || event.key === " ") pin();
        else if (to) {
          word.tabIndex = -1;
          to.tabIndex = 0;
          to.focus();
        } else return;
        event.preventDefault();
      });
    });
  }
}

/**
 * What the colors mean, in texts and matrix alike.
 * @param {Scale} scale
 */
function legend(scale) {
  if (!scale.limit) return null;
  const steps = (scale.lowers ? [-5, -3, -1, 0, 1, 3, 5] : [0, 1, 2, 3, 4, 5]).map((step) => {
    const value = (step * scale.limit) / STEPS;
    return element("span", { class: shade(value, scale) }, signed(value));
  });
  return element("p", { class: "legend faint" }, element("span", {}, "Contribution to the score:"), steps);
}

/**
 * Matrix and table; the words of long texts on demand.
 * @param {Explanation} shown
 * @param {Scale} scale
 * @param {Map<string, boolean>} opened
 */
function details(shown, scale, opened) {
  const rows = rowsOf(shown.a, scale.a, MATRIX_SIDE, true);
  const columns = rowsOf(shown.b, scale.b, MATRIX_SIDE, true);
  const bySentence = [...rows, ...columns].some((each) => each.kind === "sentence");
  const ofWords = () => matrix(shown, scale, rowsOf(shown.a, scale.a, WORD_SIDE), rowsOf(shown.b, scale.b, WORD_SIDE));
  return element(
    "div",
    { class: "details" },
    onDemand(
      bySentence ? "Matrix of sentences" : "Matrix of words",
      () => matrix(shown, scale, rows, columns),
      opened,
      MATRIX_NOTE,
      true,
    ),
    bySentence ? onDemand("Matrix of words", ofWords, opened, MATRIX_NOTE) : null,
    onDemand("Table of links", () => linkTable(shown), opened),
  );
}

/**
 * A disclosure whose content is made when it is opened.
 * @param {string} name
 * @param {() => Node | Node[]} make
 * @param {Map<string, boolean>} opened
 * @param {string} [note]
 * @param {boolean} [atFirst] whether it is open unless it was closed
 */
function onDemand(name, make, opened, note = "", atFirst = false) {
  const body = element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name });
  const said = note ? element("p", { class: "faint" }, note) : null;
  const made = element("details", { open: opened.get(name) ?? atFirst }, element("summary", {}, name), said, body);
  if (made.open) fill(body, make());
  made.addEventListener("toggle", () => {
    opened.set(name, made.open);
    if (made.open && !body.hasChildNodes()) fill(body, make());
  });
  return made;
}

/**
 * Whether a word has letters or digits and is no function word, which connects others.
 * @param {Unit} unit
 */
const saysMuch = (unit) => /[\p{L}\p{N}]/u.test(unit.text) && !FUNCTION_WORDS.has(unit.text.toLowerCase());

/** @typedef {{name: string, kind: "word" | "sentence" | "others", units: number[]}} Row units that share a row */

/**
 * The words of a side, or the sentences of a long text; function words, punctuation and all others share a row.
 * @param {Side} side
 * @param {number[]} totals
 * @param {number} most
 * @param {boolean} [bySentence]
 * @returns {Row[]}
 */
export function rowsOf(side, totals, most, bySentence = false) {
  const words = side.tokens.map(
    (unit, i) => /** @type {Row} */ ({ name: shortWord(unit.text), kind: "word", units: [i] }),
  );
  const saying = words.filter((each) => saysMuch(side.tokens[each.units[0]]));
  const sentences = bySentence && saying.length > most ? sentencesOf(side) : [];
  const total = (/** @type {Row} */ row) => row.units.reduce((sum, i) => sum + totals[i], 0);
  const rows = [...(sentences.length > 1 ? sentences : saying)]
    .sort((one, other) => Math.abs(total(other)) - Math.abs(total(one)))
    .slice(0, most)
    .sort((one, other) => one.units[0] - other.units[0]);
  const kept = new Set(rows.flatMap((each) => each.units));
  const others = side.tokens.map((_, i) => i).filter((i) => !kept.has(i));
  if (others.length > 1) return [...rows, { name: `${others.length} others`, kind: "others", units: others }];
  return [...rows, ...others.map((i) => words[i])].sort((one, other) => one.units[0] - other.units[0]);
}

/**
 * A row for each sentence with words.
 * @param {Side} side
 * @returns {Row[]}
 */
function sentencesOf(side) {
  /** @type {Row[]} */
  const rows = [];
  let end = 0;
  let next = 0;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(side.text)) {
    end += Array.from(segment).length;
    const units = [];
    for (; next < side.tokens.length && side.tokens[next].start < end; next++) units.push(next);
    const name = `${rows.length + 1}. ${beginning(segment.trim(), NAME_CHARS)}`;
    if (units.length) rows.push({ name, kind: "sentence", units });
  }
  return rows;
}

/**
 * The matrix of contributions: rows are words or sentences of the first text, columns of the second. The colors of the
 * texts stand for words; sums over several words have bars.
 * @param {Explanation} shown
 * @param {Scale} scale
 * @param {Row[]} rows
 * @param {Row[]} columns
 */
function matrix(shown, scale, rows, columns) {
  const rowOf = placeOf(rows);
  const columnOf = placeOf(columns);
  const cells = rows.map(() => columns.map(() => 0));
  for (const link of shown.links) cells[rowOf[link.a]][columnOf[link.b]] += shownOf(link, scale);
  const ofWords = (/** @type {number} */ i, /** @type {number} */ j) =>
    rows[i].kind === "word" && columns[j].kind === "word";
  const sums = cells.flatMap((row, i) => row.filter((_, j) => !ofWords(i, j)));
  const largest = Math.max(...sums.map(Math.abs), Number.MIN_VALUE);
  const cell = (/** @type {number} */ value, /** @type {number} */ i, /** @type {number} */ j) => {
    const number = Math.abs(value) >= 0.0005 ? signed(value).replace("0.", ".") : "";
    if (ofWords(i, j)) return element("td", { class: shade(value, scale) }, number);
    const made = element("td", { class: `sum-cell ${value < 0 ? "negative" : "positive"}` }, number);
    made.style.setProperty("--share", `${(100 * Math.abs(value)) / largest}%`);
    return made;
  };
  return element(
    "table",
    { class: "matrix" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("td"),
        columns.map((each) => element("th", { scope: "col" }, element("span", {}, each.name))),
      ),
    ),
    element(
      "tbody",
      {},
      cells.map((row, i) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, rows[i].name),
          row.map((value, j) => cell(value, i, j)),
        ),
      ),
    ),
  );
}

/** @param {Row[]} rows */
function placeOf(rows) {
  /** @type {number[]} */
  const place = [];
  rows.forEach((row, i) => row.units.forEach((unit) => (place[unit] = i)));
  return place;
}

/**
 * All links, sortable by each column.
 * @param {Explanation} shown
 */
function linkTable(shown) {
  const rows = shown.links.map((link) => ({
    a: shown.a.tokens[link.a].text,
    b: shown.b.tokens[link.b].text,
    similarity: link.similarity,
    contribution: link.contribution,
  }));
  /** @type {[("a" | "b" | "similarity" | "contribution"), string][]} */
  const columns = [
    ["a", "First text"],
    ["b", "Second text"],
    ["similarity", "Similarity"],
    ["contribution", "Contribution"],
  ];
  const { compare: inOrder } = new Intl.Collator();
  const body = element("tbody");
  const heads = columns.map(([key, name]) => {
    const head = element("th", { scope: "col", "aria-sort": key === "contribution" ? "descending" : "none" });
    head.append(button(name, () => sortBy(key, head)));
    return head;
  });

  /** @param {"a" | "b" | "similarity" | "contribution"} key @param {HTMLElement} head */
  function sortBy(key, head) {
    const down = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((each) => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((x, y) => (down ? -1 : 1) * (key === "a" || key === "b" ? inOrder(x[key], y[key]) : x[key] - y[key]));
    show();
    announce(`Sorted by ${key}.`);
  }

  function show() {
    fill(
      body,
      rows
        .slice(0, TABLE_ROWS)
        .map((row) =>
          element(
            "tr",
            {},
            element("td", {}, row.a),
            element("td", {}, row.b),
            element("td", { class: "number" }, plain(row.similarity, 2)),
            element("td", { class: "number" }, signed(row.contribution, 4)),
          ),
        ),
    );
  }
  show();
  const table = element("table", { class: "links" }, element("thead", {}, element("tr", {}, heads)), body);
  if (rows.length <= TABLE_ROWS) return [table];
  return [element("p", { class: "faint" }, `${TABLE_ROWS} of ${counted(rows.length, "link")}`), table];
}
