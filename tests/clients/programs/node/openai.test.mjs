/** OpenAI's client, and Azure's. */
import assert from "node:assert/strict";
import test from "node:test";

import OpenAI, { AzureOpenAI } from "openai";

import * as task from "./task.mjs";
import { ADDRESS, KEY, LONG, MODEL, QUERY, UNKNOWN_MODEL } from "./task.mjs";

const client = new OpenAI({ baseURL: `${ADDRESS}/v1`, apiKey: KEY });

test("vectors have the cosines of the service", async () => {
  await task.checkVectors(embed);
  await task.checkVectors((texts) => embed(texts, { encoding_format: "float" }));
  const azure = new AzureOpenAI({ endpoint: ADDRESS, deployment: MODEL, apiKey: KEY, apiVersion: "2024-10-21" });
  await task.checkVectors((texts) => embed(texts, {}, azure));
});

test("base64 that the client decodes is the same as numbers", async () => {
  const [[numbers], [encoded]] = await Promise.all([embed([QUERY], { encoding_format: "float" }), embed([QUERY])]);
  assert.deepEqual(encoded.map(Math.fround), numbers.map(Math.fround));
  const [first] = await embed([QUERY], { dimensions: 16 });
  assert.equal(first.length, 16);
  task.assertClose(task.dot(first, first), 1);
});

test("long texts are read in passages", async () => {
  const { data, usage } = await client.embeddings.create({ model: MODEL, input: LONG });
  await task.checkLong(data[0].embedding, "whole");
  assert.ok(usage.prompt_tokens > 256);
  assert.equal(usage.total_tokens, usage.prompt_tokens);
});

test("models are listed", async () => {
  const names = (await Array.fromAsync(client.models.list())).map((model) => model.id);
  assert.ok(names.includes(MODEL));
  assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
});

test("errors are its own", async () => {
  const wrong = new OpenAI({ baseURL: `${ADDRESS}/v1`, apiKey: "wrong" });
  await assert.rejects(embed([QUERY], {}, wrong), { constructor: OpenAI.AuthenticationError, status: 401 });
  const unknown = { constructor: OpenAI.NotFoundError, status: 404, message: new RegExp(MODEL) };
  await assert.rejects(embed([QUERY], { model: UNKNOWN_MODEL }), unknown);
  const empty = { constructor: OpenAI.BadRequestError, status: 400, message: /must not be empty/ };
  await assert.rejects(embed([]), empty);
});

async function embed(input, options = {}, from = client) {
  const { data } = await from.embeddings.create({ model: MODEL, input, ...options });
  return data.map(({ embedding }) => embedding);
}
