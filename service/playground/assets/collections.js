// @ts-check
// All collections: what each holds, in words, and what can be done with them.

import { Latest, collectionPath, get, send } from "./api.js";
import { announce, button, counted, element, fill, grouped, isolated, labeled, menu, modelsOf } from "./dom.js";

const NAME_PATTERN = "[a-z0-9][a-z0-9._\\-]{0,63}"; // as in service/names.py
const UNITS = ["bytes", "kB", "MB", "GB"];

/**
 * A size in words, such as “about 1.2 MB”.
 * @param {number} bytes
 */
export function sizeText(bytes) {
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < UNITS.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `about ${size < 10 && unit ? Number(size.toFixed(1)) : Math.round(size)} ${UNITS[unit]}`;
}

/**
 * What a collection holds, in words.
 * @param {any} one
 */
export const holdingText = (one) =>
  `${counted(one.count, "document")}, by ${one.model}, ${sizeText(one.bytes_per_document * one.count)}`;

/**
 * What a collection is doing, if it is not just ready.
 * @param {any} one
 */
export const stateText = ({ reembedding: other }) => (other ? `being re-embedded by ${other.model}` : "ready");

/** The section that lists collections, and creates, names and deletes them. */
export class CollectionList {
  /**
   * @param {any} models answer of GET /models
   * @param {(name: string) => unknown} open show a collection, after it was read anew
   */
  constructor(models, open) {
    this.open = open;
    this.listing = new Latest();
    this.rows = element("ul", { class: "collections" });
    this.asked = element("div", { "aria-live": "polite" });
    this.name = element("input", { name: "new", pattern: NAME_PATTERN, autocomplete: "off", spellcheck: "false" });
    this.model = menu([["", "the default model"], ...modelsOf(models, "encoder")], "");
    this.section = element(
      "section",
      { class: "card", "aria-label": "All collections" },
      element("h2", {}, "All collections"),
      this.rows,
      this.asked,
      element(
        "details",
        {},
        element("summary", {}, "Create a collection"),
        element(
          "div",
          { class: "toolbar" },
          labeled("Name", this.name),
          labeled("Model", this.model),
          button("Create", () => this.create()),
        ),
      ),
    );
  }

  /**
   * @param {any[]} collections
   * @param {string} shown
   */
  async show(collections, shown) {
    // a key may not be allowed to see aliases
    const found = await this.listing.run((signal) => get("aliases", signal).catch(() => ({ aliases: [] })));
    if (!found) return;
    const { aliases } = found;
    fill(
      this.rows,
      collections.map((one) => this.row(one, one.name === shown, aliases)),
    );
  }

  /** @param {any} one @param {boolean} isShown @param {{name: string, collection: string}[]} aliases */
  row(one, isShown, aliases) {
    const own = aliases.filter((each) => each.collection === one.name).map((each) => each.name);
    return element(
      "li",
      {},
      button(one.name, () => this.open(one.name), { class: "quiet", "aria-pressed": String(isShown) }),
      element(
        "span",
        {},
        ` ${holdingText(one)}`,
        element("span", { class: "faint" }, ` ${stateText(one)}${own.length ? `, also named ${own.join(", ")}` : ""}`),
      ),
      element("span", { class: "spacer" }),
      button("Alias", () => this.askAlias(one), { class: "quiet", "aria-label": `Alias of ${one.name}` }),
      button("Delete", () => this.askDelete(one), { class: "quiet", "aria-label": `Delete ${one.name}` }),
    );
  }

  async create() {
    const name = this.name.value.trim();
    if (!name || !this.name.checkValidity()) return this.name.reportValidity() || this.name.focus();
    await send("PUT", collectionPath(name), { body: { model: this.model.value || null } });
    this.name.value = "";
    announce(`Created ${name}.`);
    return this.open(name);
  }

  /** @param {any} one */
  askAlias({ name }) {
    const alias = element("input", { name: "alias", pattern: NAME_PATTERN, autocomplete: "off" });
    this.ask(
      [`A further name for `, isolated(name), ", which may lead to another collection until now."],
      alias,
      "Set alias",
      async () => {
        if (!alias.value || !alias.checkValidity()) return;
        await send("PUT", `aliases/${encodeURIComponent(alias.value)}`, { body: { collection: name } });
        await this.open(name);
      },
    );
  }

  /** @param {any} one */
  askDelete({ name, count }) {
    const typed = element("input", { name: "typed", autocomplete: "off", spellcheck: "false" });
    this.ask(
      [`Type `, isolated(name), ` to delete it with ${grouped(count)} documents. This cannot be undone.`],
      typed,
      "Delete",
      async () => {
        if (typed.value !== name) return;
        await send("DELETE", collectionPath(name));
        announce(`Deleted ${name}.`);
        await this.open("");
      },
    );
  }

  /**
   * @param {(string | Node)[]} words
   * @param {HTMLElement} field
   * @param {string} action
   * @param {() => Promise<void>} act
   */
  ask(words, field, action, act) {
    const close = () => fill(this.asked);
    fill(
      this.asked,
      element(
        "div",
        { class: "notice toolbar" },
        element("label", { class: "field" }, element("span", {}, words), field),
        button(action, () => act().then(close)),
        button("Cancel", close, { class: "quiet" }),
      ),
    );
    field.focus();
  }
}
