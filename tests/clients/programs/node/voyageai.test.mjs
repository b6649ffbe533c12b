/** Voyage's client. */
import assert from "node:assert/strict";
import test from "node:test";

import { VoyageAIClient, VoyageAIError } from "voyageai";

import * as task from "./task.mjs";
import { ADDRESS, BEST, DOCUMENTS, KEY, LONG, MODEL, QUERY, UNKNOWN_MODEL } from "./task.mjs";

const client = new VoyageAIClient({ apiKey: KEY, baseUrl: `${ADDRESS}/v1` });

test("vectors have the cosines of the service", async () => {
  await task.checkVectors(embed);
  await task.checkVectors((texts) => embed(texts, { inputType: "document" }));
});

test("vectors have the type that is asked for", async () => {
  const [float] = await embed([QUERY]);
  const [int8] = await embed([QUERY], { outputDtype: "int8" });
  task.checkIntegers(int8, float);
  const [ubinary] = await embed([QUERY], { outputDtype: "ubinary" });
  task.checkSigns(ubinary, float);
  const [base64] = await embed([QUERY], { encodingFormat: "base64" });
  assert.deepEqual(task.decoded(base64), float.map(Math.fround));
  const [short] = await embed([QUERY], { outputDimension: 16 });
  assert.equal(short.length, 16);
});

test("long texts are read in passages unless it says not", async () => {
  const { data, usage } = await client.embed({ model: MODEL, input: LONG });
  await task.checkLong(data[0].embedding, "whole");
  assert.ok(usage.totalTokens > 256);
  const [truncated] = await embed([LONG], { truncation: true });
  await task.checkLong(truncated, "beginning");
  await assert.rejects(embed([LONG], { truncation: false }), { constructor: VoyageAIError, statusCode: 400 });
});

test("documents are ranked", async () => {
  await task.checkRanking(async (documents, topK) => {
    const { data } = await client.rerank({ model: MODEL, query: QUERY, documents, topK });
    return data.map(({ index, relevanceScore }) => [index, relevanceScore]);
  });
  const { data, usage } = await client.rerank({
    model: MODEL,
    query: QUERY,
    documents: DOCUMENTS,
    returnDocuments: true,
  });
  assert.equal(data.length, DOCUMENTS.length);
  assert.equal(data[0].document, DOCUMENTS[BEST]);
  assert.ok(usage.totalTokens > 20);
});

test("errors are its own", async () => {
  const unknown = { constructor: VoyageAIError, statusCode: 404, message: new RegExp(MODEL) };
  await assert.rejects(embed([QUERY], { model: UNKNOWN_MODEL }), unknown);
  await assert.rejects(client.rerank({ model: UNKNOWN_MODEL, query: QUERY, documents: DOCUMENTS }), unknown);
  const wrong = new VoyageAIClient({ apiKey: "wrong", baseUrl: `${ADDRESS}/v1` });
  await assert.rejects(wrong.embed({ model: MODEL, input: QUERY }), { constructor: VoyageAIError, statusCode: 401 });
});

async function embed(input, options = {}) {
  const { data } = await client.embed({ model: MODEL, input, ...options });
  return data.map(({ embedding }) => embedding);
}
