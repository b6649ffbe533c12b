// @ts-check
// Documents that were chosen on a map: some at a time, each with its whole text when it is opened.

import { collectionPath, get } from "./api.js";
import { announce, beginning, button, counted, element, fill, grouped, isolated } from "./dom.js";
import { metadataText } from "./hit.js";

const LISTED = 50; // documents at a time
const SHOWN_CHARS = 120; // of a text that is not open

/** @typedef {{id: string, text: string}} Chosen */

/** The list beside or below a map. */
export class MapList {
  /** @param {string} collection */
  constructor(collection) {
    this.collection = collection;
    this.box = element("div");
  }

  /**
   * @param {Chosen[]} points
   * @param {string} what they have in common, such as “in view”
   */
  show(points, what) {
    const said = `${counted(points.length, "document")} ${what}`;
    const list = element("ul", { class: "documents map-list", tabindex: 0, "aria-label": said });
    const more = button("", () => add(), { class: "quiet" });
    const add = () => {
      const from = list.children.length;
      list.append(...points.slice(from, from + LISTED).map((each) => this.row(each)));
      const left = points.length - list.children.length;
      more.textContent = `Show ${grouped(Math.min(left, LISTED))} more of ${grouped(left)}`;
      more.hidden = !left;
    };
    add();
    fill(this.box, element("p", { class: "faint" }, `${said}:`), list, more);
    this.box.scrollIntoView({ block: "nearest" });
    announce(said);
  }

  /** @param {Chosen} point */
  row({ id, text }) {
    const whole = element("div");
    const details = element(
      "details",
      {},
      element(
        "summary",
        {},
        isolated(id),
        " ",
        element("span", { class: "faint", dir: "auto" }, beginning(text, SHOWN_CHARS)),
      ),
      whole,
    );
    details.addEventListener("toggle", async () => {
      if (!details.open || whole.hasChildNodes()) return;
      const found = await get(`${collectionPath(this.collection)}/documents/${encodeURIComponent(id)}`);
      fill(
        whole,
        element("p", { dir: "auto" }, found.text),
        element("span", { class: "faint" }, metadataText(found.metadata)),
      );
    });
    return element("li", {}, details);
  }
}
