// @ts-check
// Requests to the service that served this page, and to no other.

import { clearMessage, fill, withLabels } from "./dom.js";

const KEY = "semblance-key";
const NO_ANSWER = "The service does not answer.";

/** A refusal of the service, or no answer at all. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {() => void} */
let onKeyNeeded = () => {};

/** @param {() => void} act */
export function whenKeyNeeded(act) {
  onKeyNeeded = act;
}

export const keyInUse = () => sessionStorage.getItem(KEY) ?? "";

/**
 * Send this key from now on.
 * @param {string} key empty for none
 */
export function useKey(key) {
  if (!/^[\x21-\x7e]*$/.test(key))
    throw new Refused(0, "A key has no spaces, and only letters, digits and signs of ASCII: copy it again.");
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

/**
 * Send a request; the path is relative to the page, so that a prefix before the service does no harm.
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, lines?: string, accept?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<Response>}
 */
export async function send(method, path, { body, lines, accept = "application/json", signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept };
  if (keyInUse()) headers.authorization = `Bearer ${keyInUse()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (lines !== undefined) headers["content-type"] = "application/x-ndjson";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: lines ?? JSON.stringify(body), signal });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, NO_ANSWER);
  }
  if (answer.status === 401) {
    onKeyNeeded();
    throw new Refused(401, keyInUse() ? "The service does not know this key." : "This service asks for a key.");
  }
  if (!answer.ok) throw new Refused(answer.status, await reasonOf(answer));
  return answer;
}

/** @param {Response} answer */
async function reasonOf(answer) {
  try {
    const problem = await answer.json();
    return withLabels(String(problem.detail || problem.title || answer.status));
  } catch {
    return `The service answered ${answer.status}.`;
  }
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function post(path, body, signal) {
  return (await send("POST", path, { body, signal })).json();
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return (await send("GET", path, { signal })).json();
}

/**
 * Other names of collections; none where the key may not see them.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{name: string, collection: string}[]>}
 */
export const aliases = (signal) =>
  get("aliases", signal).then(
    (found) => found.aliases,
    () => [],
  );

/**
 * A module of this page, which is a request, too.
 * @template T
 * @param {Promise<T>} module
 * @returns {Promise<T>}
 */
export async function loaded(module) {
  try {
    return await module;
  } catch {
    throw new Refused(0, NO_ANSWER);
  }
}

/**
 * The lines of an answer as they come.
 * @param {Response} answer
 * @returns {AsyncGenerator<any>}
 */
export async function* linesOf(answer) {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
    if (done) break;
  }
  if (rest.trim()) yield JSON.parse(rest);
}

/** @param {string} name */
export const collectionPath = (name) => `collections/${encodeURIComponent(name)}`;

/**
 * Runs the latest of several requests: a new one cancels the one before.
 */
export class Latest {
  /** @param {...Element} boxes where answers are shown: emptied after a failure, since what is there has been replaced */
  constructor(...boxes) {
    this.boxes = boxes;
    /** @type {AbortController | null} */
    this.running = null;
  }

  /** Forget the running request, whose answer is no longer wanted. */
  cancel() {
    this.running?.abort();
  }

  /**
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} act
   * @returns {Promise<T | undefined>} undefined if a newer one took its place
   */
  async run(act) {
    this.cancel();
    const own = (this.running = new AbortController());
    try {
      const result = await act(own.signal);
      if (own.signal.aborted) return undefined;
      clearMessage();
      return result;
    } catch (error) {
      if (own.signal.aborted) return undefined;
      for (const box of this.boxes) fill(box);
      throw error;
    }
  }
}

/**
 * Offer data as a file.
 * @param {Blob} data
 * @param {string} name
 */
export function download(data, name) {
  const url = URL.createObjectURL(data);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
