/** Cohere's client, versions 1 and 2 of its API. */
import assert from "node:assert/strict";
import test from "node:test";

import { Cohere, CohereClient, CohereClientV2 } from "cohere-ai";

import * as task from "./task.mjs";
import { ADDRESS, BEST, DOCUMENTS, KEY, LONG, MODEL, QUERY, UNKNOWN_MODEL } from "./task.mjs";

const TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"];

for (const [version, Client] of Object.entries({ v1: CohereClient, v2: CohereClientV2 })) {
  const client = new Client({ token: KEY, baseUrl: ADDRESS });

  test(`${version}: vectors have the cosines of the service`, async () => {
    await task.checkVectors(async (texts) => (await embed(texts)).embeddings.float);
  });

  test(`${version}: vectors have the types that are asked for`, async () => {
    const { embeddings, meta } = await embed([QUERY], { embeddingTypes: TYPES });
    const [[float], [int8], [uint8], [binary], [ubinary], [base64]] = TYPES.map((type) => embeddings[type]);
    task.checkIntegers(int8, float);
    task.checkIntegers(
      uint8.map((code) => code - 128),
      float,
    );
    task.checkSigns(ubinary, float);
    task.checkSigns(
      binary.map((byte) => byte + 128),
      float,
    );
    assert.deepEqual(task.decoded(base64), float.map(Math.fround));
    assert.ok(meta.billedUnits.inputTokens > 5);
  });

  test(`${version}: long texts are truncated unless it says not`, async () => {
    const { embeddings, meta } = await embed([LONG]);
    await task.checkLong(embeddings.float[0], "beginning");
    assert.ok(meta.billedUnits.inputTokens <= 256);
    await assert.rejects(embed([LONG], { truncate: "NONE" }), { constructor: Cohere.BadRequestError, statusCode: 400 });
  });

  test(`${version}: documents are ranked`, async () => {
    await task.checkRanking(async (documents, topN) => {
      const { results } = await client.rerank({ model: MODEL, query: QUERY, documents, topN });
      return results.map(({ index, relevanceScore }) => [index, relevanceScore]);
    });
  });

  test(`${version}: spans count code points`, async () => {
    const spans = { relevant_spans: { mode: "enabled", threshold: 0 } };
    const { results } = await client.rerank({ model: MODEL, query: QUERY, documents: DOCUMENTS, ...spans });
    const shown = results[0].relevant_spans.map(({ start, end }) => [...DOCUMENTS[BEST]].slice(start, end).join(""));
    const words = shown.flatMap((text) => text.split(/[ .,:]+/));
    assert.ok(words.includes("package") && words.includes("🙂"), shown);
  });

  test(`${version}: errors are its own`, async () => {
    const unknown = { constructor: Cohere.NotFoundError, statusCode: 404, message: new RegExp(MODEL) };
    await assert.rejects(embed([QUERY], { model: UNKNOWN_MODEL }), unknown);
    await assert.rejects(client.rerank({ model: UNKNOWN_MODEL, query: QUERY, documents: DOCUMENTS }), unknown);
    const wrong = new Client({ token: "wrong", baseUrl: ADDRESS });
    const unauthorized = { constructor: Cohere.UnauthorizedError, statusCode: 401, message: /key/ };
    await assert.rejects(wrong.rerank({ model: MODEL, query: QUERY, documents: DOCUMENTS }), unauthorized);
    const empty = { constructor: Cohere.BadRequestError, statusCode: 400, message: /documents/ };
    await assert.rejects(client.rerank({ model: MODEL, query: QUERY, documents: [] }), empty);
  });

  function embed(texts, options = {}) {
    return client.embed({ model: MODEL, texts, inputType: "search_document", embeddingTypes: ["float"], ...options });
  }
}

test("the first version returns plain floats, and the documents", async () => {
  const client = new CohereClient({ token: KEY, baseUrl: ADDRESS });
  const { embeddings, responseType } = await client.embed({ model: MODEL, texts: [QUERY], inputType: "search_query" });
  assert.equal(responseType, "embeddings_floats");
  task.assertClose(task.dot(embeddings[0], embeddings[0]), 1);
  const documents = DOCUMENTS.map((text) => ({ text }));
  const { results } = await client.rerank({ model: MODEL, query: QUERY, documents, returnDocuments: true });
  assert.equal(results[0].document.text, DOCUMENTS[BEST]);
});

test("models are listed", async () => {
  const { models } = await new CohereClient({ token: KEY, baseUrl: ADDRESS }).models.list();
  assert.ok(models.some(({ name, endpoints }) => name === MODEL && endpoints.includes("rerank")));
});
