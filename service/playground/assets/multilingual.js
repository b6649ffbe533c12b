// @ts-check
// What to do about texts that the model does not read: the model that reads a hundred languages.

import { button, element } from "./dom.js";

const NAME = "multilingual";

/**
 * A button that switches to the model, or the command that installs it; nothing where all is read.
 * @param {{code: string}[]} warnings
 * @param {any} known answer of GET /models
 * @param {(name: string) => unknown} use
 */
export function multilingualOffer(warnings, known, use) {
  if (!warnings.some((each) => each.code === "unread_text")) return null;
  const isServed = known.models.some((/** @type {any} */ each) => each.name === NAME);
  if (isServed) return button(`Use ${NAME}, which reads a hundred languages`, () => use(NAME));
  return element(
    "p",
    { class: "faint" },
    `The model ${NAME} reads a hundred languages. To install it, run `,
    element("code", {}, "scripts/install multilingual"),
    ".",
  );
}

/**
 * The command that lets a collection be searched by the model; nothing where all is read.
 * @param {{code: string}[]} warnings
 * @param {string} collection
 */
export const reembedOffer = (warnings, collection) =>
  warnings.some((each) => each.code === "unread_text")
    ? element(
        "p",
        { class: "faint" },
        "A collection is searched in other languages once it is re-embedded: ",
        element("code", {}, `semblance index reembed ${collection} --model ${NAME}`),
      )
    : null;
