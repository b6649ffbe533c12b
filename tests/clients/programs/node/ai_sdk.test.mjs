/** Vercel's AI SDK, by its providers for OpenAI's API and for Cohere's. */
import assert from "node:assert/strict";
import test from "node:test";

import { createCohere } from "@ai-sdk/cohere";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, cosineSimilarity, embed, embedMany, rerank } from "ai";

import * as task from "./task.mjs";
import { ADDRESS, BEST, DOCUMENTS, KEY, LONG, MODEL, QUERY, UNKNOWN_MODEL } from "./task.mjs";

const PROVIDERS = {
  "openai-compatible": (apiKey) => createOpenAICompatible({ name: "semblance", baseURL: `${ADDRESS}/v1`, apiKey }),
  cohere: (apiKey) => createCohere({ baseURL: `${ADDRESS}/v2`, apiKey }),
};
const READS = { "openai-compatible": "whole", cohere: "beginning" };

for (const [name, provider] of Object.entries(PROVIDERS)) {
  const model = provider(KEY).embeddingModel(MODEL);

  test(`${name}: vectors have the cosines of the service`, async () => {
    await task.checkVectors(async (values) => (await embedMany({ model, values })).embeddings);
    const { embeddings } = await embedMany({ model, values: [QUERY, DOCUMENTS[BEST]] });
    const { embedding, usage } = await embed({ model, value: QUERY });
    task.assertClose(cosineSimilarity(embedding, embeddings[1]), cosineSimilarity(...embeddings));
    assert.ok(usage.tokens > 5);
  });

  test(`${name}: long texts are read`, async () => {
    const { embedding, usage } = await embed({ model, value: LONG });
    await task.checkLong(embedding, READS[name]);
    assert.equal(usage.tokens > 256, READS[name] === "whole");
  });

  test(`${name}: errors are its own`, async () => {
    const unknown = provider(KEY).embeddingModel(UNKNOWN_MODEL);
    await assert.rejects(embed({ model: unknown, value: QUERY }), error(404, new RegExp(MODEL)));
    const wrong = provider("wrong").embeddingModel(MODEL);
    await assert.rejects(embed({ model: wrong, value: QUERY }), error(401, /key/));
  });
}

test("openai-compatible: options are passed on", async () => {
  const model = PROVIDERS["openai-compatible"](KEY).embeddingModel(MODEL);
  const { embedding } = await embed({ model, value: QUERY, providerOptions: { semblance: { dimensions: 16 } } });
  assert.equal(embedding.length, 16);
});

test("cohere: documents are ranked", async () => {
  const model = PROVIDERS.cohere(KEY).rerankingModel(MODEL);
  await task.checkRanking(async (documents, topN) => {
    const { ranking } = await rerank({ model, query: QUERY, documents, topN });
    return ranking.map(({ originalIndex, score }) => [originalIndex, score]);
  });
  const { rerankedDocuments } = await rerank({ model, query: QUERY, documents: DOCUMENTS });
  assert.equal(rerankedDocuments[0], DOCUMENTS[BEST]);
  const unknown = PROVIDERS.cohere(KEY).rerankingModel(UNKNOWN_MODEL);
  await assert.rejects(rerank({ model: unknown, query: QUERY, documents: DOCUMENTS }), error(404, new RegExp(MODEL)));
});

function error(statusCode, message) {
  return (found) => APICallError.isInstance(found) && found.statusCode === statusCode && message.test(found.message);
}
