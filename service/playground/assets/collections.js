// @ts-check
// All collections: what each holds, in words, and what can be done with them.

import { Latest, aliases, collectionPath, send } from "./api.js";
import { announce, button, counted, element, fill, grouped, isolated, labeled, menu, modelsOf } from "./dom.js";

export const NAME_PATTERN = "[a-z0-9][a-z0-9._\\-]{0,63}"; // as in service/names.py
export const NAME_RULE =
  "A name has 1 to 64 characters of a-z, 0-9, “.”, “_” and “-”, and starts with a letter or digit";
const NAME_FIELD = { pattern: NAME_PATTERN, title: `${NAME_RULE}.`, autocomplete: "off", spellcheck: "false" };
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
    /** @type {{name: string, collection: string}[]} */
    this.aliases = [];
    this.shown = "";
    this.name = element("input", { ...NAME_FIELD, name: "new" });
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
    const found = await this.listing.run(aliases);
    if (!found) return;
    this.aliases = found;
    this.shown = shown;
    fill(
      this.rows,
      collections.map((one) => this.row(one)),
    );
  }

  /** @param {any} one */
  row(one) {
    const own = this.aliases.filter((each) => each.collection === one.name).map((each) => each.name);
    return element(
      "li",
      {},
      button(one.name, () => this.open(one.name), { class: "quiet", "aria-pressed": String(one.name === this.shown) }),
      element(
        "span",
        {},
        ` ${holdingText(one)}`,
        element("span", { class: "faint" }, ` ${stateText(one)}`),
        own.length ? [", also named ", own.flatMap((name) => [isolated(name), " ", this.removal(name)])].flat() : null,
      ),
      button("Alias", () => this.askAlias(one), { class: "quiet", "aria-label": `Alias of ${one.name}` }),
      button("Delete", () => this.askDelete(one), { class: "quiet", "aria-label": `Delete ${one.name}` }),
    );
  }

  /** @param {string} alias */
  removal(alias) {
    const remove = async () => {
      await send("DELETE", `aliases/${encodeURIComponent(alias)}`);
      announce(`Removed the name ${alias}.`);
      return this.open(this.shown);
    };
    return button("Remove", remove, { class: "quiet small", "aria-label": `Remove the name ${alias}` });
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
    const alias = element("input", { ...NAME_FIELD, name: "alias" });
    const check = () => {
      if (!alias.value) return [false, ""];
      if (!alias.checkValidity()) return [false, `${NAME_RULE}.`];
      const other = this.aliases.find((each) => each.name === alias.value && each.collection !== name);
      return [true, other ? `It is a name of ${other.collection} now, and will be one of ${name} instead.` : ""];
    };
    this.ask(["Another name of ", isolated(name)], alias, "Set alias", check, async () => {
      await send("PUT", `aliases/${encodeURIComponent(alias.value)}`, { body: { collection: name } });
      return name;
    });
  }

  /** @param {any} one */
  askDelete({ name, count }) {
    const typed = element("input", { name: "typed", autocomplete: "off", spellcheck: "false" });
    const lost = `Deletes ${counted(count, "document")}. This cannot be undone.`;
    this.ask(
      ["Type ", isolated(name), " exactly to delete it"],
      typed,
      "Delete",
      () => [typed.value === name, lost],
      async () => {
        await send("DELETE", collectionPath(name));
        announce(`Deleted ${name}.`);
        return "";
      },
    );
  }

  /**
   * @param {(string | Node)[]} label
   * @param {HTMLElement} field
   * @param {string} action
   * @param {() => any[]} check whether what is typed will do, and what to say of it
   * @param {() => Promise<string>} act returns the collection to show
   */
  ask(label, field, action, check, act) {
    const close = () => fill(this.asked);
    const said = element("span", { class: "faint" });
    const sure = button(action, async () => {
      const opened = await act();
      close();
      await this.open(opened);
    });
    const update = () => {
      const [willDo, words] = check();
      sure.disabled = !willDo;
      said.textContent = words;
    };
    field.addEventListener("input", update);
    update();
    fill(
      this.asked,
      element(
        "div",
        { class: "toolbar" },
        element("label", { class: "field" }, element("span", {}, label), field),
        sure,
        button("Cancel", close, { class: "quiet" }),
        said,
      ),
    );
    field.focus();
  }
}
