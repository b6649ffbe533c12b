// @ts-check
// What to do about texts that the model does not read, where the model that reads a hundred languages is served. Where it is
// not, the warning has the command that installs it.

import { button, element } from "./dom.js";

const NAME = "multilingual";

/**
 * Whether the model would read what another one does not.
 * @param {{code: string}[]} warnings
 * @param {any} known answer of GET /models
 */
const wouldRead = (warnings, known) =>
  warnings.some((each) => each.code === "unread_text") &&
  known.models.some((/** @type {any} */ each) => each.name === NAME);

/**
 * A button that switches to the model.
 * @param {{code: string}[]} warnings
 * @param {any} known answer of GET /models
 * @param {(name: string) => unknown} use
 */
export const multilingualOffer = (warnings, known, use) =>
  wouldRead(warnings, known) ? button(`Use ${NAME}, which reads a hundred languages`, () => use(NAME)) : null;

/**
 * The command that lets a collection be searched by the model.
 * @param {{code: string}[]} warnings
 * @param {any} known answer of GET /models
 * @param {string} collection
 */
export const reembedOffer = (warnings, known, collection) =>
  wouldRead(warnings, known)
    ? element(
        "p",
        { class: "faint" },
        "The collection is searched in other languages once it is re-embedded: ",
        element("code", {}, `semblance index reembed ${collection} --model ${NAME}`),
      )
    : null;
