// @ts-check
// An explanation drawn: its score, a bar that adds up, both texts, a matrix and a table of links.

import { announce, button, counted, element, fill, isolated, notices, plain, signed } from "./dom.js";
import { scaleLine } from "./scale.js";
import { verdictLine } from "./verdict.js";

/** @typedef {{text: string, start: number, end: number}} Unit */
/** @typedef {{text: string, read_start: number, read_end: number, truncated: boolean, tokens: Unit[]}} Side */
/** @typedef {{a: number, b: number, similarity: number, contribution: number}} Link */
/** @typedef {{name: string, kind: string, value: number, shown: string, start: number, width: number, link: [number, number] | null}} Part its place in the bar in percent */
/** @typedef {[string, string, number | null]} Cell its class, its number, and the length of its bar in percent */
/** @typedef {{name: string, rows: string[], columns: string[], cells: Cell[][]}} Matrix */
/**
 * What the service groups, rounds and colors: words and the legend have classes and a number.
 * @typedef {object} View
 * @property {Part[]} parts
 * @property {[string, string][]} a
 * @property {[string, string][]} b
 * @property {[string, string][]} legend
 * @property {Matrix[]} matrices the second one of the words of long texts
 */
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
 * @property {number | null} [by_glossary]
 * @property {number | null} probability
 * @property {import("./verdict.js").Verdict | null} [same]
 * @property {{pointer: string, detail: string}[]} warnings
 * @property {View} view
 */

const IN_TEXTS = { a: "in the first text", b: "in the second text" };
const MATRIX_NOTE = "First text downward, second across; others are function words, punctuation and weak words.";
const TABLE_ROWS = 200;

/**
 * The whole card of an explanation.
 * @param {Explanation} shown
 * @param {Node | null} offer of a model that reads the texts, after the warnings
 * @param {{bounds: [number | null, number | null]} | undefined} measure
 * @param {import("./scale.js").Typical | undefined} typical scores of that measure
 * @param {Map<string, boolean>} opened which parts are open; kept up to date, so that a later card has the same
 */
export function explanationCard(shown, offer, measure, typical, opened) {
  return [
    notices(shown.warnings),
    offer,
    verdictLine(shown.same, IN_TEXTS),
    scoreLine(shown, measure, typical),
    bar(shown, measure, typical),
    texts(shown),
    legend(shown.view),
    details(shown, opened),
  ].flat();
}

/**
 * The score, what it is usual for, and its bounds.
 * @param {Explanation} shown
 * @param {{bounds: [number | null, number | null]} | undefined} measure
 * @param {import("./scale.js").Typical | undefined} typical
 */
function scoreLine(shown, measure, typical) {
  const words = shown.links.reduce((sum, link) => sum + link.contribution, 0) + shown.omitted;
  const share = shown.score ? Math.round((100 * words) / shown.score) : 0;
  const glossary = shown.by_glossary ? `, ${signed(shown.by_glossary)} of it by the glossary` : "";
  return element(
    "div",
    { class: "score-line" },
    element("output", { class: "score", data: { value: shown.score } }, plain(shown.score)),
    element(
      "div",
      {},
      scaleLine(shown.score, typical, shown.same),
      element(
        "span",
        { class: typical ? "faint" : "" },
        `${shown.measure} by ${shown.model}, ${boundsText(measure?.bounds[1])}${share === 100 ? "" : `; word matches make ${share} % of it`}${glossary}`,
      ),
      shown.probability === null || shown.probability === undefined
        ? null
        : element(
            "span",
            { class: "probability" },
            `People call such a pair the same in ${Math.round(100 * shown.probability)} of 100 cases.`,
          ),
    ),
  );
}

/** @param {number | null | undefined} high */
const boundsText = (high) =>
  high === null || high === undefined
    ? "without bounds"
    : high
      ? `of at most ${plain(high, 0)}`
      : "minus a distance: 0 is the best possible";

/**
 * The bar whose segments add up to the score, the scale that it ends at, and the sum in words.
 * @param {Explanation} shown
 * @param {{bounds: [number | null, number | null]} | undefined} measure
 * @param {import("./scale.js").Typical | undefined} typical
 */
function bar(shown, measure, typical) {
  const { parts } = shown.view;
  const classOf = (/** @type {Part} */ part, /** @type {number} */ i) =>
    `${part.kind} ${part.value < 0 ? "negative" : "positive"} n${i % 6}`;
  const segments = parts.map((part, i) => {
    const segment = element("div", { class: `segment ${classOf(part, i)}`, title: `${part.name}: ${part.shown}` });
    segment.style.left = `${part.start}%`;
    segment.style.width = `${part.width}%`;
    return segment;
  });
  const terms = parts.map((part, i) =>
    element(
      "li",
      { class: classOf(part, i) },
      element("span", { class: "swatch", "aria-hidden": "true" }),
      element("span", { class: "name" }, part.name),
      element("data", { value: part.value, class: "part" }, part.shown),
    ),
  );
  return element(
    "div",
    { class: "sum" },
    element("div", { class: "bar", "aria-hidden": "true" }, segments),
    measure?.bounds[1] === 1 ? ticks(typical) : null,
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
 * Places on the scale from 0 to 1, below the bar.
 * @param {import("./scale.js").Typical | undefined} typical
 */
function ticks(typical) {
  const [reach, begin] = [typical?.random[1] ?? 0, typical?.paraphrases[0] ?? 0];
  const named = [...new Set([0, reach, begin, 1])].map((at) => {
    const tick = element("span", {}, plain(at, at % 1 ? 2 : 0));
    tick.style.left = `${100 * at}%`;
    return tick;
  });
  return element("div", { class: "ticks faint", "aria-hidden": "true" }, named);
}

/**
 * Both texts with colored words; pointing at a word, or walking to it by arrow keys, shows its partners.
 * @param {Explanation} shown
 */
function texts(shown) {
  const said = element("p", { class: "partners faint", "aria-live": "polite" }, hint());
  /** @type {{a: HTMLElement[], b: HTMLElement[]}} */
  const words = { a: [], b: [] };
  const box = element(
    "div",
    { class: "texts" },
    sideOf(shown.a, "Words of the first text", shown.view.a, words.a),
    sideOf(shown.b, "Words of the second text", shown.view.b, words.b),
  );
  connect(shown, words, said);
  return element("div", {}, box, said);
}

const hint = () => "Point at a word, or walk through the words with the arrow keys, to see its partners.";

/**
 * A text with its words; the rest of it, such as spaces and what the model did not read, stays.
 * @param {Side} side
 * @param {string} name
 * @param {[string, string][]} colors
 * @param {HTMLElement[]} words filled
 */
function sideOf(side, name, colors, words) {
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
        class: `word ${colors[i][0]}`,
        role: "button",
        tabindex: words.length ? -1 : 0,
        "aria-pressed": "false",
      },
      part(start, unit.end),
      element("span", { class: "visually-hidden" }, ` ${colors[i][1]}`),
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
    side.truncated ? element("p", { class: "faint" }, "The grey part is not compared.") : null,
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
 * @param {{a: HTMLElement[], b: HTMLElement[]}} words
 * @param {HTMLElement} said
 */
function connect(shown, words, said) {
  const inBar = new Map(shown.view.parts.map((part) => [String(part.link), part.shown]));
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
    const strongest = links.slice(0, 3).flatMap((link, place) => {
      const share = inBar.get(`${link.a},${link.b}`) ?? signed(link.contribution);
      const partner = isolated(shown[other].tokens[link[other]].text);
      return [place ? ", " : " is linked with ", partner, ` (similarity ${plain(link.similarity, 2)}, ${share})`];
    });
    const word = isolated(shown[side].tokens[i].text);
    const none = shown.omitted
      ? " is in none of the links that are shown, which are the strongest"
      : " adds nothing to the score by itself";
    fill(said, "“", word, "”", strongest.length ? strongest : none, ".");
  }

  for (const side of /** @type {const} */ (["a", "b"])) {
    words[side].forEach((word, i) => {
      word.addEventListener("pointerenter", () => pinned || point(side, i));
      word.addEventListener("focus", () => {
        words[side].forEach((each) => (each.tabIndex = each === word ? 0 : -1));
        point(side, i);
      });
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
        else if (to) to.focus();
        else return;
        event.preventDefault();
      });
    });
  }
}

/**
 * What the colors mean, in texts and matrix alike, and bold words.
 * @param {View} view
 */
function legend({ legend: steps, a, b }) {
  if (!steps.length) return null;
  const boxes = steps.map(([color, value]) => element("span", { class: color }, value));
  const differs = [...a, ...b].some(([name]) => name.endsWith(" differs"));
  return [
    element(
      "p",
      { class: "legend faint" },
      element("span", {}, "Contribution to the score:"),
      boxes,
      [...a, ...b].some(isQuiet) ? element("span", { class: "says-little" }, "function words") : null,
    ),
    differs ? element("p", { class: "faint" }, "Bold words differ, by the verdict.") : null,
  ];
}

/**
 * Matrix and table; the words of long texts on demand.
 * @param {Explanation} shown
 * @param {Map<string, boolean>} opened
 */
function details(shown, opened) {
  return element(
    "div",
    { class: "details" },
    shown.view.matrices.map((each, i) => onDemand(each.name, () => matrix(each), opened, MATRIX_NOTE, i === 0)),
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
 * The matrix of contributions: rows are words or sentences of the first text, columns of the second. The colors of the
 * texts stand for words; sums over several words have bars.
 * @param {Matrix} shown
 */
function matrix({ rows, columns, cells }) {
  const cell = (/** @type {Cell} */ [kind, number, share]) => {
    const made = element("td", { class: kind }, number);
    if (share !== null) made.style.setProperty("--share", `${share}%`);
    return made;
  };
  const heads = columns.map((name) => element("th", { scope: "col" }, element("span", {}, isolated(name))));
  const lines = cells.map((row, i) =>
    element("tr", {}, element("th", { scope: "row" }, isolated(rows[i])), row.map(cell)),
  );
  return element(
    "table",
    { class: "matrix" },
    element("thead", {}, element("tr", {}, element("td"), heads)),
    element("tbody", {}, lines),
  );
}

/**
 * Whether a word says little: it is a function word or punctuation.
 * @param {[string, string]} word
 */
const isQuiet = ([name]) => name.startsWith("says-little");

/**
 * All links, sortable by each column; those of function words and punctuation are one row.
 * @param {Explanation} shown
 */
function linkTable(shown) {
  const quiet = shown.view.parts.find((part) => part.kind === "function");
  const rows = shown.links
    .filter((link) => !(isQuiet(shown.view.a[link.a]) || isQuiet(shown.view.b[link.b])))
    .map((link) => ({
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
            element("td", {}, isolated(row.a)),
            element("td", {}, isolated(row.b)),
            element("td", { class: "number" }, plain(row.similarity, 2)),
            element("td", { class: "number" }, signed(row.contribution, 4)),
          ),
        ),
    );
  }
  show();
  const last =
    quiet &&
    element(
      "tfoot",
      {},
      element(
        "tr",
        { class: "function" },
        element("td", { colspan: 3 }, quiet.name),
        element("td", { class: "number" }, quiet.shown),
      ),
    );
  const table = element("table", { class: "links" }, element("thead", {}, element("tr", {}, heads)), body, last);
  if (rows.length <= TABLE_ROWS) return [table];
  return [element("p", { class: "faint" }, `${TABLE_ROWS} of ${counted(rows.length, "link")}`), table];
}
