// @ts-check
// The choice of a measure: three that differ in kind, and all others with a sentence each.

import { button, choose, element, fill, setChoices } from "./dom.js";

/** Few strong links of words; the vectors that an index searches by; how much of the first text the second one has. */
const SHOWN = ["rcmd_words", "cosine", "rcmd1_words"];
const MORE = "more";

/** A menu of measures; `change` of `select` tells of a choice. */
export class MeasureMenu {
  /**
   * @param {{name: string, summary: string}[]} measures
   * @param {string} chosen
   * @param {Record<string, any>} [options] of the menu
   */
  constructor(measures, chosen, options = {}) {
    this.measures = measures;
    this.select = element("select", options);
    this.list = element("div", { class: "measures", role: "group", "aria-label": "All measures", hidden: true });
    this.chosen = "";
    this.set(chosen);
    this.select.addEventListener("change", (/** @type {Event} */ event) => {
      if (this.select.value !== MORE) this.set(this.select.value);
      else {
        event.stopImmediatePropagation();
        choose(this.select, this.chosen, MORE);
        this.open();
      }
    });
  }

  /**
   * Choose a measure; one that there is not is replaced by the first.
   * @param {string | undefined} name
   */
  set(name) {
    const names = this.measures.map((each) => each.name);
    const shown = SHOWN.filter((each) => names.includes(each));
    this.chosen = name && names.includes(name) ? name : (shown[0] ?? names[0]);
    const listed = shown.includes(this.chosen) ? shown : [...shown, this.chosen];
    /** @type {[string, string][]} */
    const choices = listed.map((each) => [each, each]);
    setChoices(this.select, [...choices, [MORE, "more …"]], this.chosen);
    this.list.hidden = true;
  }

  /** List all measures, each with its sentence. */
  open() {
    fill(
      this.list,
      this.measures.map(({ name, summary }) =>
        element(
          "p",
          {},
          button(name, () => this.pick(name), { class: "quiet", "aria-pressed": String(name === this.chosen) }),
          ` ${summary.replaceAll("`", "")}`,
        ),
      ),
      button("Close", () => this.close(), { class: "quiet" }),
    );
    this.list.hidden = false;
    this.list.querySelector("button")?.focus();
  }

  close() {
    this.list.hidden = true;
    this.select.focus();
  }

  /** @param {string} name */
  pick(name) {
    this.set(name);
    this.select.focus();
    this.select.dispatchEvent(new Event("change"));
  }
}
