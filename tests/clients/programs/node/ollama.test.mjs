/** Ollama's client. */
import assert from "node:assert/strict";
import test from "node:test";

import { Ollama } from "ollama";

import * as task from "./task.mjs";
import { ADDRESS, KEY, LONG, MODEL, QUERY, UNKNOWN_MODEL } from "./task.mjs";

const client = withKey(KEY);

test("vectors have the cosines of the service", async () => {
  await task.checkVectors(async (input) => (await client.embed({ model: MODEL, input })).embeddings);
});

test("earlier and tagged calls return the same vector", async () => {
  const [expected] = (await client.embed({ model: MODEL, input: QUERY })).embeddings;
  const tagged = await client.embed({ model: `${MODEL}:latest`, input: [QUERY], keep_alive: "5m" });
  assert.deepEqual(tagged.embeddings, [expected]);
  assert.deepEqual((await client.embeddings({ model: MODEL, prompt: QUERY })).embedding, expected);
});

test("long texts are truncated unless it says not", async () => {
  const { embeddings, prompt_eval_count } = await client.embed({ model: MODEL, input: LONG });
  await task.checkLong(embeddings[0], "beginning");
  assert.ok(prompt_eval_count <= 256);
  await assert.rejects(client.embed({ model: MODEL, input: LONG, truncate: false }), error(400));
});

test("models are listed and shown", async () => {
  const { models } = await client.list();
  assert.ok(models.some(({ model }) => model === `${MODEL}:latest`));
  const { capabilities, model_info } = await client.show({ model: MODEL });
  assert.deepEqual(capabilities, ["embedding"]);
  assert.equal(model_info["semblance.embedding_length"], 384);
});

test("errors are its own", async () => {
  await assert.rejects(client.embed({ model: UNKNOWN_MODEL, input: QUERY }), error(404, new RegExp(MODEL)));
  await assert.rejects(withKey("wrong").embed({ model: MODEL, input: QUERY }), error(401, /key/));
  await assert.rejects(withKey("wrong").list(), error(401, /key/));
});

function withKey(key) {
  return new Ollama({ host: ADDRESS, headers: { Authorization: `Bearer ${key}` } });
}

function error(status_code, message = /./) {
  return { name: "ResponseError", status_code, message }; // the client does not export its class
}
