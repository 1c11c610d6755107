// The openai client with default settings against a running gateway.
// GATEWAY: open; GUARDED and KEY: asks for this key; FULL: answers 429 as long as it is held.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const { GATEWAY, GUARDED, KEY, FULL } = process.env;
const model = "minilm";
const client = new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: "unused" });

const norm = (vector) => Math.hypot(...vector);
const distance = (a, b) => Math.max(...a.map((value, index) => Math.abs(value - b[index])));

test("one text gives one unit vector and its usage", async () => {
  const answer = await client.embeddings.create({ model, input: "hello world" });
  assert.equal(answer.object, "list");
  assert.equal(answer.data.length, 1);
  assert.equal(answer.data[0].object, "embedding");
  assert.equal(answer.data[0].index, 0);
  assert.equal(answer.data[0].embedding.length, 384);
  assert.ok(Math.abs(norm(answer.data[0].embedding) - 1) < 1e-5);
  assert.deepEqual(answer.usage, { prompt_tokens: 4, total_tokens: 4 });
});

test("the default encoding and plain floats give the same numbers", async () => {
  const [packed, written] = await Promise.all([
    client.embeddings.create({ model, input: "one and the same" }),
    client.embeddings.create({ model, input: "one and the same", encoding_format: "float" }),
  ]);
  assert.ok(distance(packed.data[0].embedding, written.data[0].embedding) < 1e-6);
});

test("2,048 inputs come back in their order", async () => {
  const input = Array.from({ length: 2048 }, (_, index) => `number ${index % 64}`);
  const answer = await client.embeddings.create({ model, input });
  assert.equal(answer.data.length, 2048);
  answer.data.forEach((each, index) => assert.equal(each.index, index));
  for (const place of [64, 640, 2047]) {
    assert.ok(distance(answer.data[place].embedding, answer.data[place % 64].embedding) < 1e-5);
    assert.ok(distance(answer.data[place].embedding, answer.data[(place + 1) % 64].embedding) > 1e-3);
  }
});

test("20 requests at once keep apart", async () => {
  const alone = await client.embeddings.create({ model, input: "text 7" });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => client.embeddings.create({ model, input: `text ${index}` })),
  );
  assert.ok(distance(answers[7].data[0].embedding, alone.data[0].embedding) < 1e-5);
  assert.ok(distance(answers[8].data[0].embedding, alone.data[0].embedding) > 1e-3);
});

test("models are listed", async () => {
  const names = [];
  for await (const each of client.models.list()) names.push(each.id);
  assert.ok(names.includes(model));
});

test("a bad request is a BadRequestError with code and param", async () => {
  const bad = client.embeddings.create({ model, input: ["fine", ""] });
  await assert.rejects(bad, (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "input[1]");
    assert.equal(error.type, "invalid_request_error");
    return true;
  });
  const long = client.embeddings.create({ model, input: "word ".repeat(300) });
  await assert.rejects(long, { status: 400, code: "context_length_exceeded" });
});

test("a wrong key is an AuthenticationError and the right one opens", async () => {
  const stranger = new OpenAI({ baseURL: `${GUARDED}/v1`, apiKey: "wrong" });
  await assert.rejects(stranger.embeddings.create({ model, input: "a" }), (error) => {
    assert.ok(error instanceof OpenAI.AuthenticationError);
    assert.equal(error.code, "invalid_api_key");
    return true;
  });
  const friend = new OpenAI({ baseURL: `${GUARDED}/v1`, apiKey: KEY });
  assert.equal((await friend.embeddings.create({ model, input: "a" })).data.length, 1);
});

test("an unknown model is a NotFoundError", async () => {
  await assert.rejects(client.embeddings.create({ model: "gpt-5", input: "a" }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
});

test("a full queue is retried, and is a RateLimitError in the end", async () => {
  let tries = 0;
  const counting = (...call) => {
    tries += 1;
    return fetch(...call);
  };
  const busy = new OpenAI({ baseURL: `${FULL}/v1`, apiKey: "unused", fetch: counting });
  await assert.rejects(busy.embeddings.create({ model, input: "a ".repeat(200) }), (error) => {
    assert.ok(error instanceof OpenAI.RateLimitError);
    assert.equal(error.code, "overloaded");
    assert.ok(Number(error.headers.get("retry-after")) >= 1);
    return true;
  });
  assert.equal(tries, 3);
});
