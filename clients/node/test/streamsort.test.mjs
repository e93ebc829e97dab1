import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import * as streamsort from "../index.mjs";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const types = read("../index.d.ts");

// The members of an interface, and which it requires.
function declared(name) {
  const block = new RegExp(`^export interface ${name} \\{\\n((?:  .*\\n)+)\\}`, "m").exec(types)[1];
  const found = [...block.matchAll(/^  (\w+)(\??):/gm)];
  return { all: found.map((m) => m[1]).sort(), required: found.filter((m) => !m[2]).map((m) => m[1]).sort() };
}

// The members of a schema of the API, and which it requires.
function openapi(name) {
  const block = new RegExp(`^    ${name}:\\n((?:      .*\\n)+)`, "m").exec(read("../../../docs/openapi.yaml"))[1];
  return {
    all: [...block.matchAll(/^        (\w+):/gm)].map((m) => m[1]).sort(),
    required: /^      required: \[(.*)\]/m.exec(block)[1].split(", ").sort(),
  };
}

test("the types have the members that the schemas have", () => {
  const lambda = JSON.parse(read("../../../docs/schema/lambda.json"));
  for (const [name, schema] of [["Batch", lambda], ["Message", lambda.$defs.Message]]) {
    const want = { all: Object.keys(schema.properties).sort(), required: schema.required.toSorted() };
    assert.deepEqual(declared(name), want);
  }
  assert.deepEqual(declared("PutMessage"), openapi("Message"));
  assert.deepEqual(declared("Result"), openapi("Result"));
});

test("every name that is declared is there", () => {
  const names = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map((m) => m[1]).sort();
  assert.deepEqual(Object.keys(streamsort).sort(), names);
});

const message = (seq, members) => ({ seq, contentType: "application/json", enqueuedAt: "", ...members });
const encoded = (text) => Buffer.from(text).toString("base64");

test("body", () => {
  for (const [given, want] of [
    [message(1, { body: { n: 1 } }), { n: 1 }],
    [message(1, { body: null }), null],
    [message(1, { bodyBase64: encoded('{"n": 1}') }), { n: 1 }],
    [message(1, { contentType: "application/x+JSON; v=1", bodyBase64: encoded(" 2") }), 2],
    [message(1, { contentType: "text/plain", bodyBase64: encoded("12") }), Buffer.from("12")],
  ]) assert.deepEqual(streamsort.body(given), want);
  assert.throws(() => streamsort.body(message(7, { bodyBase64: encoded("secret") })), {
    message: "message 7 is application/json, and its body is no JSON",
  });
});

test("each", async (t) => {
  const batch = { queue: "q", messages: [message(3), message("9007199254740993"), message(9)] };
  const seen = [];
  assert.equal(await streamsort.each(batch, async (m) => seen.push(m.seq)), undefined);
  assert.deepEqual(seen, [3, "9007199254740993", 9]);
  const failsAt = (seq) => (m) => {
    if (m.seq === seq) throw new RangeError("not there");
  };
  const logged = t.mock.method(console, "error", () => {});
  assert.deepEqual(await streamsort.each(batch, failsAt(9)), { done: "9007199254740993" });
  assert.equal(logged.mock.calls[0].arguments[0], "message 9 of q failed");
  assert.equal(logged.mock.calls[0].arguments[1].message, "not there");
  await assert.rejects(streamsort.each(batch, failsAt(3)), RangeError);
});

// The standard's own example.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const content = '{"test": 2432232314}';
const headers = {
  "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
  "Webhook-Signature": "v1a,x v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

function verify({ body = content, by = secret, at = 1614265400, ...other }) {
  return streamsort.verify(body, { ...headers, ...other }, by, { now: at * 1000 });
}

test("webhooks that are good", () => {
  for (const given of [
    {}, { body: Buffer.from(content) }, { by: [`whsec_${"A".repeat(32)}`, secret] },
    { by: secret.slice("whsec_".length) }, { at: 1614265330 - 299 },
  ]) assert.equal(verify(given), headers["Webhook-Id"]);
  assert.ok(streamsort.verify(content, new Headers(headers), secret, { now: 1614265330000 }));
});

test("webhooks that are refused", () => {
  for (const [given, want] of [
    [{ body: "{}" }, /by the secret/], [{ by: `whsec_${"A".repeat(32)}` }, /by the secret/],
    [{ "Webhook-Id": "other" }, /by the secret/], [{ "Webhook-Id": "" }, /webhook-id/],
    [{ "Webhook-Signature": "" }, /by the secret/], [{ "Webhook-Timestamp": "x" }, /timestamp/],
    [{ "Webhook-Signature": headers["Webhook-Signature"].slice(4, -1) }, /by the secret/],
    [{ "Webhook-Signature": "v1,ä" }, /by the secret/], [{ at: 1614265330 + 301 }, /over 300/],
    [{ at: 1614265330 - 301 }, /over 300/], [{ "Webhook-Timestamp": "9".repeat(400) }, /timestamp is miss/],
  ]) {
    assert.throws(() => verify(given), (e) => e instanceof streamsort.SignatureError && want.test(e.message));
  }
  for (const by of ["whsec_c2hvcnQ=", "", "a secret of words"]) {
    assert.throws(() => verify({ by }), /^TypeError: a secret must be whsec_/);
  }
  assert.throws(() => verify({ by: [] }), streamsort.SignatureError);
  for (const options of [
    { toleranceSeconds: NaN }, { toleranceSeconds: Infinity }, { toleranceSeconds: "x" }, { now: NaN }, { now: new Date("x") },
  ]) assert.throws(() => streamsort.verify(content, headers, secret, options), /^TypeError: .* must be finite/);
});

// Puts messages to an API that gives these answers, the last one for ever.
async function put(messages, options, ...answers) {
  const client = new streamsort.Client("http://127.0.0.1:1", { minBackoffMs: 1, maxBackoffMs: 2, ...options });
  const requests = [];
  client.request = async (text) => {
    requests.push(JSON.parse(text).messages);
    const [status, answer] = answers.length > 1 ? answers.shift() : answers[0];
    return { status, text: JSON.stringify(typeof answer === "function" ? answer(requests.at(-1)) : answer), retryAfterMs: 0 };
  };
  try {
    return { results: await client.put(messages), requests };
  } catch (error) {
    return { error, requests };
  }
}

test("results", async () => {
  const stored = { status: 200, queue: "q", outcome: "advanced", seq: 1 };
  const { results, requests } = await put([{ queue: "q", seq: 9007199254740993n, body: Buffer.of(0) }], {}, [200, { results: [stored] }]);
  assert.deepEqual(results, [stored]);
  assert.deepEqual(requests, [[{ queue: "q", seq: "9007199254740993", bodyBase64: "AA==" }]]);
  assert.deepEqual((await put([], {}, [500, {}])).results, []);
  assert.match((await put([{ queue: "q", seq: 2 ** 53 + 2 }], {}, [500, {}])).error.message, /^seq is 9007199254740994: beyond/);
});

test("a message that is refused", async () => {
  const problem = { status: 400, errors: [{ field: "messages[1].key", index: 1, code: "clash", detail: "must not be given" }] };
  const stored = { status: 200, queue: "q", outcome: "parked" };
  const { error } = await put([{ queue: "q", seq: 1 }, { queue: "q", seq: 2, key: 1 }], {}, [400, problem], [200, { results: [stored] }]);
  assert.ok(error instanceof streamsort.PutError);
  const [refused] = error.errors;
  assert.deepEqual(error.results, [stored, refused]);
  assert.ok(refused instanceof streamsort.Refused);
  const { status, code, field, detail, sent } = refused;
  assert.deepEqual({ status, code, field, detail, seq: sent.seq }, { status: 400, code: "clash", field: "key", detail: "must not be given", seq: 2 });
  assert.match(String(error), /^PutError: 1 of 2 messages failed; the first: .*\(400 key\): must not/);

  const conflict = { status: 409, queue: "q", outcome: "conflict", detail: "another" };
  const [clash] = (await put([{ queue: "q", seq: 1 }], {}, [200, { results: [conflict] }])).error.errors;
  assert.deepEqual([clash.status, clash.outcome, clash.position], [409, "conflict", undefined]);
  const [large] = (await put([{ queue: "q", seq: 1 }], {}, [413, { code: "too-large" }])).error.errors;
  assert.deepEqual([large.status, large.code], [413, "too-large"]);
});

// A result that cannot be read is as a lost response, and an error as none.
test("an answer that does not fit", async () => {
  const stored = { status: 200, queue: "q", outcome: "advanced" };
  const odd = { toString: 1 }; // which cannot be made a string
  for (const results of [
    [{}], [null], ["x"], [{ status: "200" }], [{ status: null }], { a: 1 }, { length: 1 }, "x", 7, [[]], null,
  ]) {
    const got = await put([{ queue: "q", seq: 1 }], {}, [200, { results }], [200, { results: [stored] }]);
    assert.deepEqual([got.results, got.requests.length], [[stored], 2], JSON.stringify(results));
  }
  for (const errors of [
    { x: 1 }, ["bad"], [null], 7, [{ index: 0, field: null }], [{ index: 0 }], [{ index: null }],
    [{ index: "length", field: "messages[length]" }], [{ index: -1, field: "messages[-1]" }], [{ index: odd, field: odd }],
  ]) {
    const { error, requests } = await put([1, 2].map((seq) => ({ queue: "q", seq })), {}, [400, { errors, detail: odd }]);
    assert.equal(error.name, "PutError", error.stack);
    assert.deepEqual([error.errors.map((e) => e.sent.seq), requests.length], [[1, 2], 3]);
    assert.match(error.errors[0].message, /400/);
  }
  for (const position of [undefined, null, odd, "x", 1.5, "9".repeat(5000)]) {
    const answer = { status: 409, outcome: "ahead", detail: odd, code: odd, new: position };
    const { error } = await put([{ queue: "q", seq: 1 }], {}, [200, { results: [answer] }]);
    assert.equal(error.name, "PutError", error.stack);
    assert.deepEqual([error.errors[0].position, error.errors[0].detail, error.errors[0].code], [undefined, "", ""]);
  }
});

// A token or credentials that fail are as no answer: what was stored, and under which ids, is not lost.
test("no token and no credentials", async (t) => {
  const fetched = t.mock.method(globalThis, "fetch", async (url, { body }) => Response.json({
    results: JSON.parse(body).messages.map(() => ({ status: 200, queue: "q", outcome: "advanced" })),
  }));
  const given = Array.from({ length: 501 }, () => ({ queue: "q" }));
  const keys = { accessKeyId: "a", secretAccessKey: "b" };
  // Each fails at the calls that fails says.
  const client = (member, value, fails) => {
    let n = 0;
    const options = {
      [member]: async () => {
        if (fails(++n)) throw n === 3 ? undefined : new Error("the issuer");
        return value;
      },
    };
    fetched.mock.resetCalls();
    if (member === "credentials") options.region = "eu-north-1";
    return new streamsort.Client("http://127.0.0.1:1", { minBackoffMs: 1, maxBackoffMs: 2, ...options });
  };
  for (const [member, value, good] of [["token", "x", 1], ["credentials", keys, 2]]) {
    const results = await client(member, value, (n) => n > good && n < good + 3).put(given);
    assert.deepEqual([results.length, fetched.mock.callCount()], [501, 2]);
  }

  let now = 0;
  const clock = t.mock.method(performance, "now", () => (now += 1));
  const put = client("token", "x", (n) => n > 1 && (now += 20_000)).put(given);
  const error = await put.catch((e) => e);
  clock.mock.restore();
  assert.equal(error.name, "PutError", error.stack);
  assert.deepEqual([error.results[0].status, error.errors.length], [200, 1]);
  assert.deepEqual([error.errors[0].status, error.errors[0].detail], [0, "no answer: the issuer"]);
  assert.match(error.errors[0].sent.id, /-500$/);

  const none = client("credentials", keys, (n) => n === 1);
  await assert.rejects(none.put(given), /^Error: the issuer/); // before the first request
  assert.equal(fetched.mock.callCount(), 0);
  assert.equal((await none.put(given)).length, 501);
});

test("gives up", async () => {
  let now = 0;
  const clock = mock.method(performance, "now", () => (now += 1));
  const later = [503, () => {
    now += 20_000;
    return { detail: "later" };
  }];
  const { error, requests } = await put([{ queue: "q" }], {}, later);
  clock.mock.restore();
  const [gaveUp] = error.errors;
  assert.ok(gaveUp instanceof streamsort.GaveUp);
  assert.deepEqual([gaveUp.status, gaveUp.detail, requests.length], [503, "503: later", 3]);
  assert.deepEqual(new Set(requests.map((r) => r[0].id)), new Set([gaveUp.sent.id]));
});

test("a message that is ahead goes again behind the next one, where there is that", async () => {
  const stored = new Set();
  const ahead = [200, (messages) => ({
    results: messages.map(({ seq }) => {
      if (seq === 5 && !stored.has("tried") && stored.add("tried")) return { status: 503, queue: "q" };
      if (seq === "6" && !stored.has(5)) return { status: 409, queue: "q", outcome: "ahead", new: 4 };
      return stored.add(seq) && { status: 200, queue: "q", outcome: "advanced" };
    }),
  })];
  const given = [5, "6"].map((seq) => ({ queue: "q", kind: "arrival", seq }));
  assert.equal((await put(given, {}, ahead)).error, undefined);
  assert.deepEqual([...stored], ["tried", 5, "6"]);
  stored.clear();
  const [refused] = (await put(given.slice(1), {}, ahead)).error.errors;
  assert.deepEqual([refused.outcome, refused.position], ["ahead", 4]);
});

test("options", () => {
  for (const [url, options, want] of [
    ["example.com", {}, /url example.com must be like http/],
    ["ftp://a", {}, /must be like http/],
    ["http://a", { requestTimeoutMs: 0 }, /requestTimeoutMs is 0: it must be from 1000 to 40000/],
    ["http://a", { maxBackoffMs: 10 }, /maxBackoffMs is 10: it must be from 100 to 3600000/],
    ["http://a", { giveUpAfterMs: NaN }, /giveUpAfterMs is NaN: it must be/],
    ["http://a", { token: () => "x" }, /must be https/],
    ["http://a", { region: "us-east-1" }, /must be https/],
  ]) assert.throws(() => new streamsort.Client(url, options), want);
});
