/** The task that every client is given: embed texts, one of them long, and rank three documents. */
import assert from "node:assert/strict";

export const ADDRESS = process.env.SEMBLANCE_URL;
export const KEY = process.env.SEMBLANCE_KEY;
export const MODEL = "minilm-graded";
export const UNKNOWN_MODEL = "rerank-english-v3.0";
export const QUERY = "my parcel never came 🙂";
export const DOCUMENTS = [
  "Return shoes within 30 days of delivery.",
  "🙂 naïve café: track a shipment with its number if your package did not arrive.",
  "Gift cards cannot be exchanged for cash.",
];
export const ORDER = [1, 0, 2]; // of the documents, best first
export const BEST = ORDER[0];
export const HUNDRED = [...Array(99).keys()].map(String).concat(QUERY); // more than Cohere takes in one request
export const LONG = `${"We sell red hats. ".repeat(80)}It rains on the sea at night, and no ship is out here today.`; // 1,500 characters
const DIMENSIONS = 384;

/** The response of the service to a plain request. */
export async function post(path, body) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${KEY}` };
  const response = await fetch(ADDRESS + path, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: MODEL, ...body }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** Check that `embed(texts)` returns vectors of unit length, whose cosines are those of POST /similarity; a blank's, too. */
export async function checkVectors(embed) {
  const [query, blank, ...documents] = await embed([QUERY, " ", ...DOCUMENTS]);
  for (const vector of [query, blank, ...documents]) {
    assert.equal(vector.length, DIMENSIONS);
    assertClose(dot(vector, vector), 1);
  }
  const { scores } = await post("/similarity", { left: [QUERY], right: DOCUMENTS, measure: "cosine" });
  documents.forEach((vector, i) => assertClose(dot(query, vector), scores[0][i]));
  const many = await embed(HUNDRED);
  assert.equal(many.length, HUNDRED.length);
  assertClose(dot(many.at(-1), query), 1, 1e-4);
}

/** Check that a vector of `LONG` is that of all of its passages, or of its beginning alone. */
export async function checkLong(vector, read) {
  const [whole, beginning] = await Promise.all(["PASSAGES", "END"].map(embedding));
  const expected = { whole, beginning }[read];
  assert.ok(dot(whole, beginning) < 0.99);
  assertClose(dot(vector, expected), 1);

  async function embedding(truncate) {
    return (await post("/v1/embeddings", { input: LONG, truncate })).data[0].embedding;
  }
}

/** Check `rank(documents, top)`, the index and the score of each result, best first. */
export async function checkRanking(rank) {
  const all = await rank(DOCUMENTS, 100);
  const scores = all.map(([, score]) => score);
  assert.deepEqual(
    all.map(([index]) => index),
    ORDER,
  );
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  assert.ok(scores.every((score) => 0 <= score && score <= 1));
  assert.deepEqual(await rank(DOCUMENTS, 2), all.slice(0, 2));
  const [[best]] = await rank([...DOCUMENTS, `${LONG} ${QUERY}`], 1); // its last passage
  assert.equal(best, DOCUMENTS.length);
}

/** Check that integers are a vector's in the type int8. */
export function checkIntegers(integers, vector) {
  const step = 6 / Math.sqrt(vector.length) / 127;
  assert.equal(integers.length, vector.length);
  integers.forEach((integer, i) => assertClose(integer * step, vector[i], 0.51 * step));
}

/** Check that bytes of ubinary have the signs of a vector, the first at the highest bit. */
export function checkSigns(bytes, vector) {
  const signs = vector.map((_, i) => (bytes[i >> 3] >> (7 - (i & 7))) & 1);
  assert.deepEqual(
    signs,
    vector.map((x) => Number(x > 0)),
  );
}

/** The little-endian float32 of base64. */
export function decoded(base64) {
  const bytes = Buffer.from(base64, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

export function dot(left, right) {
  return left.reduce((sum, x, i) => sum + x * right[i], 0);
}

export function assertClose(found, expected, tolerance = 1e-5) {
  assert.ok(Math.abs(found - expected) <= tolerance, `${found} is not ${expected}`);
}
