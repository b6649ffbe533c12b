// @ts-check
// The documents of a collection as points: distant ones differ.

import { collectionPath, post, send } from "./api.js";
import { announce, beginning, button, counted, element, fill, grouped, isolated, shownValue } from "./dom.js";
import { MapList } from "./map_list.js";
import { emptyWords, regionNames } from "./regions.js";

/** @typedef {{id: string, x: number, y: number, text: string, value: string | number | boolean | null}} Point */
/** @typedef {{name: string, color: string, shape: number, count: number}} Group */
/** @typedef {{path: Path2D, inside: string, outline: string}} Mark */

const MAX_GROUPS = 12; // with a mark of their own
const HUES = 6; // colors --mark-0 to --mark-5
const STEPS = 5; // of a scale of numbers
const SIZE = 4.5; // half the width of a mark, in pixels
const REACH = 18; // pixels between the pointer and the point that it finds
const MARGIN = 16;
const ASPECT = 0.6; // height of the map by its width
const MIN_HEIGHT = 280;
const DIMMED = 0.12;
const SENT_CHARS = 200; // of a text, by the service
const LEGEND_DIGITS = 6;
const STEP = 1.5; // of a zoom
const MAX_ZOOM = 40;
const DRAGGED = 4; // pixels that the pointer moves before it drags the map
const PAN = 0.25; // share of the view, by a key
const TIP_CHARS = 90; // of a text beside its mark

/** Outlines of the marks around the origin, in half widths. */
const SHAPES = [
  (/** @type {Path2D} */ path) => path.arc(0, 0, 1, 0, 7),
  (/** @type {Path2D} */ path) => path.rect(-0.9, -0.9, 1.8, 1.8),
  (/** @type {Path2D} */ path) => polygon(path, [0, -1.2, 1.15, 0.9, -1.15, 0.9]),
  (/** @type {Path2D} */ path) => polygon(path, [0, -1.3, 1.1, 0, 0, 1.3, -1.1, 0]),
  (/** @type {Path2D} */ path) => polygon(path, [0, 1.2, 1.15, -0.9, -1.15, -0.9]),
  (/** @type {Path2D} */ path) =>
    polygon(
      path,
      [
        -0.4, -1.2, 0.4, -1.2, 0.4, -0.4, 1.2, -0.4, 1.2, 0.4, 0.4, 0.4, 0.4, 1.2, -0.4, 1.2, -0.4, 0.4, -1.2, 0.4,
        -1.2, -0.4, -0.4, -0.4,
      ],
    ),
].map((draw) => {
  const path = new Path2D();
  draw(path);
  return path;
});

/** A map that is drawn into an element. */
export class DocumentMap {
  /**
   * @param {HTMLElement} box
   * @param {string} collection
   * @param {string} field whose values have marks; empty for none
   */
  constructor(box, collection, field) {
    this.box = box;
    this.collection = collection;
    this.field = field;
    /** @type {Point[]} */
    this.points = [];
    /** @type {Group[]} */
    this.groups = [];
    /** @type {number[]} group of each point */
    this.groupOf = [];
    /** @type {[number, number][]} places of the points on the canvas */
    this.places = [];
    /** @type {number | null} */
    this.pinned = null;
    /** @type {number | null} */
    this.pointed = null;
    /** @type {number | null} group that is shown alone */
    this.alone = null;
    /** @type {{x: number, y: number, name: string, points: Point[]}[]} */
    this.regions = [];
    /** @type {{x: number, y: number, middle: number[]} | null} where a drag began */
    this.drag = null;
    this.wasDragged = false;
    this.zoom = 1;
    /** The place of the map in the middle of the view, as shares of its width and height. */
    this.middle = [0.5, 0.5];
    this.tools = element("div", { class: "toolbar" });
    this.list = new MapList(collection);
    this.names = element("div");
    this.tip = element("div", { class: "map-tip", "aria-hidden": "true", hidden: true });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.frame = element(
      "div",
      {
        class: "map",
        tabindex: 0,
        role: "application",
        "aria-label": "Map; arrow keys walk from document to document, and with shift they move the map",
      },
      this.canvas,
      this.names,
      this.tip,
    );
    this.card = element("div", { class: "map-card", "aria-live": "polite" });
    this.legend = element("div", { class: "toolbar", role: "group", "aria-label": "Values" });
    this.frame.addEventListener("pointerdown", (/** @type {PointerEvent} */ { clientX: x, clientY: y }) => {
      this.wasDragged = false;
      this.drag = this.zoom > 1 ? { x, y, middle: this.middle } : null;
    });
    this.frame.addEventListener("pointermove", (/** @type {PointerEvent} */ event) =>
      this.drag ? this.dragTo(event) : this.point(this.nearest(event)),
    );
    for (const name of ["pointerup", "pointercancel"]) this.frame.addEventListener(name, () => (this.drag = null));
    this.frame.addEventListener("pointerleave", () => this.point(null));
    this.frame.addEventListener("click", (/** @type {PointerEvent} */ event) => {
      if (!this.wasDragged && !this.names.contains(event.target)) this.pin(this.nearest(event));
    });
    this.frame.addEventListener("dblclick", (/** @type {PointerEvent} */ event) => this.zoomAt(event, STEP));
    this.frame.addEventListener(
      "wheel",
      (/** @type {WheelEvent} */ event) => {
        if (!event.ctrlKey) return; // else the page scrolls
        event.preventDefault();
        this.zoomAt(event, event.deltaY < 0 ? STEP : 1 / STEP);
      },
      { passive: false },
    );
    this.frame.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.walk(event));
    this.resized = new ResizeObserver(() => (this.frame.isConnected ? this.draw() : this.resized.disconnect()));
    for (const query of ["(prefers-color-scheme: dark)", "print"])
      matchMedia(query).addEventListener("change", () => this.frame.isConnected && this.recolor());
  }

  /** @param {AbortSignal} signal */
  async show(signal) {
    fill(this.box, element("p", { class: "faint" }, "Drawing …"));
    const [drawn, lists] = await Promise.all([
      post(`${collectionPath(this.collection)}/map`, { field: this.field || null }, signal),
      send("GET", new URL("./words.txt", import.meta.url).href, { accept: "*/*", signal }),
    ]);
    this.points = drawn.points;
    if (!this.points.length) {
      fill(this.box, element("p", { class: "empty" }, "There are no documents to draw."));
      return;
    }
    const { groups, groupOf } = this.field ? grouping(this.points) : single(this.points);
    this.groups = groups;
    this.groupOf = this.points.map(groupOf);
    const share = Math.round(100 * (drawn.explained[0] + drawn.explained[1]));
    const shown =
      this.points.length < drawn.documents
        ? `${grouped(this.points.length)} of ${counted(drawn.documents, "document")}, evenly chosen.`
        : `${counted(drawn.documents, "document")}.`;
    const caption =
      `${shown} The two directions hold ${share} % of what tells these vectors apart: ` +
      "documents far from each other differ; near ones may differ, too.";
    this.regions = regionNames(this.points, emptyWords(await lists.text()));
    fill(
      this.names,
      this.regions.map(({ name, points }) =>
        button(name, () => this.wasDragged || this.list.show(points, `of ${name}`), { class: "map-name" }),
      ),
    );
    fill(
      this.tools,
      button("Zoom in", () => this.zoomTo(this.zoom * STEP), { class: "quiet" }),
      button("Zoom out", () => this.zoomTo(this.zoom / STEP), { class: "quiet" }),
      button("List the documents in view", () => this.listView(), { class: "quiet" }),
      element(
        "span",
        { class: "faint hint" },
        "A click on words lists that region; a double click zooms, and dragging moves what is zoomed.",
      ),
    );
    fill(
      this.box,
      element("p", { class: "faint" }, caption),
      this.legend,
      this.tools,
      element("div", { class: "map-view" }, this.frame, element("div", {}, this.card, this.list.box)),
    );
    this.recolor();
    this.resized.observe(this.frame);
    this.showCard();
    announce(`${counted(this.points.length, "document")} on the map.`);
  }

  /** Take the colors of the scheme. */
  recolor() {
    this.showLegend();
    this.draw();
  }

  showLegend() {
    if (!this.field) return;
    fill(
      this.legend,
      this.groups.map((group, i) => {
        const swatch = element("canvas", { class: "mark", width: 32, height: 32, "aria-hidden": "true" });
        drawMark(swatch.getContext("2d"), markOf(group), 16, 16, 10);
        const chosen = button("", () => this.showAlone(this.alone === i ? null : i), {
          class: "quiet legend-entry",
          "aria-pressed": this.alone === i ? "true" : "false",
        });
        fill(
          chosen,
          swatch,
          element("span", {}, group.name),
          element("span", { class: "faint" }, grouped(group.count)),
        );
        return chosen;
      }),
    );
  }

  /** @param {number | null} group */
  showAlone(group) {
    this.alone = group;
    for (const [i, each] of [...this.legend.children].entries()) each.setAttribute("aria-pressed", String(i === group));
    this.draw();
  }

  draw() {
    const width = this.frame.clientWidth;
    const height = Math.max(MIN_HEIGHT, Math.round(width * ASPECT));
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const place = placing(this.points, width, height);
    const zoomed = (/** @type {{x: number, y: number}} */ point) => {
      const [x, y] = place(point);
      const [left, top] = [this.middle[0] * width, this.middle[1] * height];
      return /** @type {[number, number]} */ ([(x - left) * this.zoom + width / 2, (y - top) * this.zoom + height / 2]);
    };
    this.places = this.points.map(zoomed);
    const marks = this.groups.map(markOf);
    for (const [i, [x, y]] of this.places.entries()) {
      context.globalAlpha = this.shown(i) ? 1 : DIMMED;
      drawMark(context, marks[this.groupOf[i]], x, y, SIZE);
    }
    context.globalAlpha = 1;
    this.placeNames(zoomed);
    context.strokeStyle = colorOf("--ink");
    for (const [i, dashes] of /** @type {[number | null, number[]][]} */ ([
      [this.pinned, []],
      [this.pointed, [3, 3]],
    ])) {
      if (i === null) continue;
      context.lineWidth = 2;
      context.setLineDash(dashes);
      context.beginPath();
      context.arc(...this.places[i], 2.2 * SIZE, 0, 7);
      context.stroke();
    }
    this.showTip();
  }

  /**
   * Place the names of regions; one that would cover another appears when the map is zoomed.
   * @param {(point: {x: number, y: number}) => [number, number]} zoomed
   */
  placeNames(zoomed) {
    /** @type {DOMRect[]} */
    const taken = [];
    for (const [i, each] of /** @type {HTMLElement[]} */ ([...this.names.children]).entries()) {
      const [x, y] = zoomed(this.regions[i]);
      each.hidden = !this.isInside(x, y);
      Object.assign(each.style, { left: `${x}px`, top: `${y}px` });
      const place = each.getBoundingClientRect();
      each.hidden ||= taken.some((other) => overlap(place, other));
      if (!each.hidden) taken.push(place);
    }
  }

  /** Show the beginning of a text beside its mark: of the one pointed at, or else of the pinned one. */
  showTip() {
    const i = this.pointed ?? this.pinned;
    this.tip.hidden = i === null || !this.isInside(...this.places[i]);
    if (i === null || this.tip.hidden) return;
    const [[x, y], width, height] = [this.places[i], this.frame.clientWidth, this.canvas.clientHeight];
    const across =
      x < width / 2 ? { left: `${x + REACH}px`, right: "" } : { left: "", right: `${width - x + REACH}px` };
    const down = y < height / 2 ? { top: `${y}px`, bottom: "" } : { top: "", bottom: `${height - y}px` };
    Object.assign(this.tip.style, across, down);
    fill(this.tip, element("strong", {}, isolated(this.points[i].id)), element("br"));
    this.tip.append(element("span", { dir: "auto" }, beginning(this.points[i].text, TIP_CHARS)));
  }

  /**
   * Zoom around the middle of the view.
   * @param {number} zoom
   */
  zoomTo(zoom) {
    this.zoom = Math.min(Math.max(zoom, 1), MAX_ZOOM);
    this.frame.classList.toggle("zoomed", this.zoom > 1);
    this.moveTo(this.zoom > 1 ? this.middle : [0.5, 0.5]);
    announce(`Zoom ${shownValue(this.zoom, 2)}.`);
  }

  /** @param {number[]} middle of the view, as shares of the map */
  moveTo(middle) {
    this.middle = middle.map((each) => Math.min(Math.max(each, 0), 1));
    this.draw();
  }

  /** @param {PointerEvent} event */
  dragTo({ clientX, clientY, pointerId }) {
    const { x, y, middle } = /** @type {{x: number, y: number, middle: number[]}} */ (this.drag);
    const [dx, dy] = [clientX - x, clientY - y];
    if (!this.wasDragged && Math.hypot(dx, dy) < DRAGGED) return;
    if (!this.wasDragged) this.frame.setPointerCapture(pointerId); // until the button is up, wherever the pointer is
    this.wasDragged = true;
    const [width, height] = [this.frame.clientWidth * this.zoom, this.canvas.clientHeight * this.zoom];
    this.moveTo([middle[0] - dx / width, middle[1] - dy / height]);
  }

  /**
   * Zoom, with the place of the pointer in the middle.
   * @param {MouseEvent} event
   * @param {number} step
   */
  zoomAt(event, step) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const shares = [(event.clientX - left) / width, (event.clientY - top) / height];
    this.middle = this.middle.map((at, i) => at + (shares[i] - 0.5) / this.zoom);
    this.zoomTo(this.zoom * step);
  }

  /** @param {number} i whether a point is shown, and not dimmed or outside */
  inView(i) {
    return this.shown(i) && this.isInside(...this.places[i]);
  }

  /** @param {number} x @param {number} y */
  isInside(x, y) {
    return x >= 0 && y >= 0 && x <= this.frame.clientWidth && y <= this.canvas.clientHeight;
  }

  /** List the documents in view, of the group that is shown alone if there is one. */
  listView() {
    this.list.show(
      this.points.filter((_, i) => this.inView(i)),
      "in view",
    );
  }

  /** @param {number} i */
  shown(i) {
    return this.alone === null || this.alone === this.groupOf[i];
  }

  /** @param {PointerEvent} event */
  nearest(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    let [found, least] = [/** @type {number | null} */ (null), REACH];
    for (const [i, place] of this.places.entries()) {
      const distance = Math.hypot(place[0] - x, place[1] - y);
      if (this.shown(i) && distance < least) [found, least] = [i, distance];
    }
    return found;
  }

  /** @param {number | null} i */
  point(i) {
    if (i === this.pointed) return;
    this.pointed = i;
    this.draw();
  }

  /** @param {number | null} i */
  pin(i) {
    this.pinned = this.pinned === i ? null : i;
    this.draw();
    this.showCard();
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step && event.key !== "Home") return;
    event.preventDefault();
    if (step && event.shiftKey) {
      if (this.zoom > 1) this.moveTo(this.middle.map((each, i) => each + (PAN * step[i]) / this.zoom));
      return;
    }
    const first = this.points.findIndex((_, i) => this.shown(i));
    this.pinned = step && this.pinned !== null && this.shown(this.pinned) ? this.neighbor(this.pinned, step) : first;
    this.pointed = null;
    this.follow(this.pinned);
    this.showCard();
  }

  /**
   * Move a point that is outside of the view into its middle.
   * @param {number} i
   */
  follow(i) {
    const [x, y] = this.places[i];
    if (this.isInside(x, y)) return this.draw();
    const [width, height] = [this.frame.clientWidth, this.canvas.clientHeight];
    const away = [x / width - 0.5, y / height - 0.5];
    return this.moveTo(this.middle.map((each, axis) => each + away[axis] / this.zoom));
  }

  /**
   * The nearest point in a direction; the same one at the border.
   * @param {number} from
   * @param {number[]} step
   */
  neighbor(from, [dx, dy]) {
    const [x, y] = this.places[from];
    let [found, least] = [from, Infinity];
    for (const [i, place] of this.places.entries()) {
      const along = (place[0] - x) * dx + (place[1] - y) * dy;
      const across = Math.abs((place[0] - x) * dy) + Math.abs((place[1] - y) * dx);
      if (this.shown(i) && along > 0 && along >= across && along + across < least) [found, least] = [i, along + across];
    }
    return found;
  }

  showCard() {
    const chosen = this.pinned === null ? [] : [this.pinned];
    fill(
      this.card,
      chosen.length
        ? null
        : element("p", { class: "faint hint" }, "Point at a mark to read its text; a click keeps it."),
      chosen.map((i) => {
        const { id, text, value } = this.points[i];
        const named = this.field ? `${this.field}: ${shownValue(value)}` : "";
        return element(
          "p",
          {},
          element("strong", {}, isolated(id)),
          element("span", { class: "faint" }, " ", isolated(named)),
          element("br"),
          element(
            "span",
            { dir: "auto" },
            Array.from(text).length < SENT_CHARS ? text : beginning(text, SENT_CHARS - 1),
          ),
        );
      }),
    );
  }
}

/**
 * One group of all points.
 * @param {Point[]} points
 */
const single = (points) => ({
  groups: [{ name: "", color: "--mark-0", shape: 0, count: points.length }],
  groupOf: () => 0,
});

/**
 * Groups by value; of numbers with many values, by fifths of the documents.
 * @param {Point[]} points
 * @returns {{groups: Group[], groupOf: (point: Point) => number}}
 */
function grouping(points) {
  /** @type {Map<Point["value"], number>} */
  const counts = new Map();
  for (const { value } of points) counts.set(value, (counts.get(value) ?? 0) + 1);
  const numbers = points.map((each) => each.value).filter((value) => typeof value === "number");
  if (counts.size > MAX_GROUPS && numbers.length > points.length / 2) return bySize(points, numbers);
  const values = [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
  const own = new Map(values.slice(0, MAX_GROUPS).map((value, i) => [value, i]));
  const groups = [...own.keys()].map((value, i) => ({
    name: shownValue(value, LEGEND_DIGITS),
    color: `--mark-${i % HUES}`,
    shape: (i + Math.floor(i / HUES)) % SHAPES.length,
    count: counts.get(value) ?? 0,
  }));
  const rest = points.filter((each) => !own.has(each.value)).length;
  if (rest)
    groups.push({
      name: counted(values.length - own.size, "other value"),
      color: "--faint",
      shape: 0,
      count: rest,
    });
  return { groups, groupOf: ({ value }) => own.get(value) ?? own.size };
}

/**
 * @param {Point[]} points
 * @param {number[]} numbers
 * @returns {{groups: Group[], groupOf: (point: Point) => number}}
 */
function bySize(points, numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const starts = [...new Set(Array.from({ length: STEPS }, (_, i) => sorted[Math.floor((i * sorted.length) / STEPS)]))];
  /** @param {Point} point */
  const groupOf = ({ value }) =>
    typeof value === "number" ? starts.filter((start) => value >= start).length - 1 : starts.length;
  const counts = points.reduce((sum, each) => (sum[groupOf(each)]++, sum), new Array(starts.length + 1).fill(0));
  const [from, to] = [starts, [...starts.slice(1), sorted[sorted.length - 1]]].map((numbers) =>
    numbers.map((each) => shownValue(each, LEGEND_DIGITS)),
  );
  /** @type {Group[]} */
  const groups = starts.map((_, i) => ({
    name: `${from[i]} ${i + 1 < starts.length ? "to below" : "to"} ${to[i]}`,
    color: `--plus-${i + 1}`,
    shape: 0,
    count: counts[i],
  }));
  if (counts[starts.length])
    groups.push({ name: "no number", color: "--faint", shape: 1, count: counts[starts.length] });
  return { groups, groupOf };
}

/**
 * What places a point on a canvas, by one scale for both directions.
 * @param {Point[]} points
 * @param {number} width
 * @param {number} height
 * @returns {(point: {x: number, y: number}) => [number, number]}
 */
function placing(points, width, height) {
  const range = (/** @type {number[]} */ values) => [
    values.reduce((a, b) => Math.min(a, b)),
    values.reduce((a, b) => Math.max(a, b)),
  ];
  const [left, right] = range(points.map((each) => each.x));
  const [low, high] = range(points.map((each) => each.y));
  const scale = Math.min(
    (width - 2 * MARGIN) / Math.max(right - left, 1e-9),
    (height - 2 * MARGIN) / Math.max(high - low, 1e-9),
  );
  const [x, y] = [(left + right) / 2, (low + high) / 2];
  return (each) => [width / 2 + (each.x - x) * scale, height / 2 - (each.y - y) * scale];
}

/**
 * The mark of a group: its shape, and the colors of the scheme in use.
 * @param {Group} group
 * @returns {Mark}
 */
const markOf = ({ shape, color }) => ({
  path: SHAPES[shape],
  inside: colorOf(color),
  outline: colorOf(color.startsWith("--plus") ? "--faint" : "--paper"),
});

/** @param {DOMRect} one @param {DOMRect} other */
const overlap = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Mark} mark
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawMark(context, { path, inside, outline }, x, y, size) {
  context.save();
  context.translate(x, y);
  context.scale(size, size);
  context.fillStyle = inside;
  context.fill(path);
  context.lineWidth = 1 / size;
  context.strokeStyle = outline;
  context.stroke(path);
  context.restore();
}

/** @param {string} name */
const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

/**
 * @param {Path2D} path
 * @param {number[]} corners x and y in turn
 */
function polygon(path, corners) {
  for (let i = 0; i < corners.length; i += 2) path.lineTo(corners[i], corners[i + 1]);
  path.closePath();
}
