// Puts messages in batches, each until it is answered for good.

import { createHash, createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const MOST_MESSAGES = 500; // of a request
const REQUEST_BYTES = 480 << 10; // of a request's messages; a larger message goes alone
const MOST_RETRY_AFTER = 60; // seconds
const DEFAULTS = {
  requestTimeoutMs: 15_000, minBackoffMs: 100, maxBackoffMs: 10_000, giveUpAfterMs: 60_000,
};
const OF_AWS = /\.(execute-api|lambda-url)\.([^.]+)\.(.*\.)?(amazonaws\.com(\.cn)?|on\.aws)$/;

// Returns what is a string; empty for any other.
const textOf = (value) => (typeof value === "string" ? value : "");

export class Refused extends Error {
  constructor(sent, status, answer, field = "") {
    const [outcome, code, detail] = [answer.outcome, answer.code, answer.detail].map(textOf);
    const what = [outcome || status, field].filter(Boolean).join(" ");
    super(`the message was refused (${what}): ${detail}`);
    Object.assign(this, { name: "Refused", sent, status, outcome, code, detail, field });
    const fits = Number.isSafeInteger(answer.new) || /^-?\d{1,19}$/.test(textOf(answer.new));
    this.position = outcome === "ahead" && fits ? answer.new : undefined;
  }
}

export class GaveUp extends Error {
  constructor(sent, status, detail) {
    super(`given up: ${detail || "there was no time to send it"}`);
    Object.assign(this, { name: "GaveUp", sent, status, detail });
  }
}

export class PutError extends Error {
  constructor(results) {
    const errors = results.filter((r) => r instanceof Error);
    super(`${errors.length} of ${results.length} messages failed; the first: ${errors[0].message}`);
    Object.assign(this, { name: "PutError", results, errors });
  }
}

export class Client {
  #url;
  #token;
  #signing;
  #credentials;
  #found;

  constructor(url, options = {}) {
    const { region, token, credentials, ...times } = options;
    this.times = { ...DEFAULTS, ...times };
    for (const [name, least, most] of [
      ["requestTimeoutMs", 1000, 40_000], ["minBackoffMs", 1, 3_600_000],
      ["maxBackoffMs", this.times.minBackoffMs, 3_600_000], ["giveUpAfterMs", 1000, 86_400_000],
    ]) {
      const value = this.times[name];
      if (!(value >= least && value <= most)) {
        throw new RangeError(`${name} is ${value}: it must be from ${least} to ${most}`);
      }
    }
    if (!/^https?:$/.test(URL.canParse(url) && new URL(url).protocol)) {
      throw new TypeError(`url ${url} must be like http://127.0.0.1:3000 or `
        + "https://ID.execute-api.REGION.amazonaws.com");
    }
    this.#url = new URL(url.replace(/\/+$/, "") + "/messages");
    const { hostname, protocol } = this.#url;
    const [, service, named] = OF_AWS.exec(hostname) ?? [];
    if (!token && (service || region)) {
      const name = service === "lambda-url" ? "lambda" : "execute-api";
      this.#signing = { service: name, region: region || named };
    }
    const local = /^(localhost|127\..*|\[::1\])$/.test(hostname);
    if (protocol === "http:" && !local && (token || this.#signing)) {
      throw new TypeError(`url ${url} must be https: anybody on the way could repeat requests`);
    }
    this.#token = token;
    this.#credentials = credentials;
  }

  async put(messages) {
    const put = new Put(this, messages);
    if (this.#signing) this.#found ||= Boolean(await this.#keys());
    const results = await put.run();
    if (results.some((r) => r instanceof Error)) throw new PutError(results);
    return results;
  }

  // Makes a request once; without an answer its status is 0.
  async request(content, timeoutMs) {
    try {
      const headers = { "content-type": "application/json" };
      if (this.#token) headers.authorization = `Bearer ${await this.#token()}`;
      if (this.#signing) {
        Object.assign(headers, sign(this.#url, content, await this.#keys(), this.#signing));
      }
      const signal = AbortSignal.timeout(timeoutMs);
      const request = { method: "POST", headers, body: content, redirect: "manual", signal };
      const response = await fetch(this.#url, request);
      const after = response.status === 429 ? Number(response.headers.get("retry-after")) : 0;
      return {
        status: response.status, text: await response.text(),
        retryAfterMs: Math.min(Math.max(after || 0, 0), MOST_RETRY_AFTER) * 1000,
      };
    } catch (error) {
      const text = `no answer: ${error?.cause?.message || error?.message || error}`;
      return { status: 0, text, retryAfterMs: 0 };
    }
  }

  async #keys() {
    if (!this.#credentials) {
      const { env } = process;
      if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY) {
        return {
          accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
          sessionToken: env.AWS_SESSION_TOKEN,
        };
      }
      const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
      this.#credentials = defaultProvider();
    }
    return this.#credentials();
  }
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const hmac = (key, text) => createHmac("sha256", key).update(text).digest();

// Returns the headers that sign a POST for IAM, by Signature Version 4.
function sign(url, content, keys, { service, region }) {
  const at = new Date().toISOString().replace(/[:-]|\.\d+/g, "");
  const headers = { host: url.host, "x-amz-date": at };
  if (keys.sessionToken) headers["x-amz-security-token"] = keys.sessionToken;
  const names = Object.keys(headers).join(";");
  const path = url.pathname.split("/").map(encodeURIComponent).join("/");
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`).join("");
  const request = `POST\n${path}\n\n${lines}\n${names}\n${sha256(content)}`;
  const scope = `${at.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${at}\n${scope}\n${sha256(request)}`;
  const key = scope.split("/").reduce(hmac, `AWS4${keys.secretAccessKey}`);
  delete headers.host; // fetch sends it
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, `
    + `SignedHeaders=${names}, Signature=${hmac(key, text).toString("hex")}`;
  return headers;
}

// One call of Client.put. Each queue has what waits, and aside what is full: those behind do
// not wait for it.
class Put {
  #client;
  #deadline;
  #entries = [];
  #queues = new Map();

  constructor(client, messages) {
    this.#client = client;
    this.#deadline = performance.now() + client.times.giveUpAfterMs;
    const made = randomUUID();
    for (const message of messages) {
      const sent = { ...message };
      if (!["seq", "key", "id"].some((name) => sent[name] !== undefined)) {
        sent.id = `${made}-${this.#entries.length}`;
      }
      const entry = { sent, document: documentOf(sent), fate: "again", status: 0, why: "" };
      this.#entries.push(entry);
      if (!this.#queues.has(sent.queue)) this.#queues.set(sent.queue, newQueue());
      this.#queues.get(sent.queue).waiting.push(entry);
    }
  }

  async run() {
    for (;;) {
      const queues = [...this.#queues.values()].filter((q) => q.waiting.length || q.aside.length);
      const due = Math.min(...queues.map(dueOf));
      const now = performance.now();
      if (!queues.length || Math.max(now, due) >= this.#deadline) break;
      if (due > now) {
        await sleep(Math.ceil(due - now));
        continue;
      }
      const ready = queues.filter((q) => dueOf(q) <= now).sort((a, b) => dueOf(a) - dueOf(b));
      const parts = compose(ready, now);
      const documents = parts.flatMap((p) => p.batch.map((e) => e.document));
      const left = Math.max(1000, this.#deadline - now);
      const timeoutMs = Math.ceil(Math.min(this.#client.times.requestTimeoutMs, left));
      const content = `{"messages":[${documents.join(",")}]}`;
      this.#judge(parts, await this.#client.request(content, timeoutMs));
    }
    return this.#entries.map((e) => e.result ?? new GaveUp(e.sent, e.status, e.why));
  }

  // Gives each message what the answer means for it, and each queue its next turn.
  #judge(parts, { status, text, retryAfterMs }) {
    const batch = parts.flatMap((p) => p.batch);
    const answer = parsed(text);
    const why = textOf(answer.detail) || textOf(answer.message) || text.slice(0, 200);
    for (const e of batch) {
      Object.assign(e, { fate: "wait", status, why: status ? `${status}: ${why}` : why });
    }
    let lost = false;
    let split = false;
    const fits = Array.isArray(answer.results) && answer.results.length === batch.length;
    if (status >= 200 && status < 300 && fits) {
      answer.results.forEach((result, i) => { lost = one(batch[i], result) || lost; });
    } else if (status < 400 || status >= 500) {
      lost = true;
    } else if (![401, 403, 404, 408, 429].includes(status)) {
      split = problem(batch, status, answer);
    }
    const now = performance.now();
    for (const { queue: q, batch: part } of parts) {
      goOn(q, part);
      this.#turn(q, part, now, retryAfterMs, lost);
      if (split && parts.length > 1) q.alone = true;
      else if (split) q.most = Math.max(part.length >> 1, 1);
    }
  }

  // Puts back what goes again, and says when.
  #turn(q, part, now, retryAfterMs, lost) {
    const again = part.filter((e) => !e.result && e.fate !== "aside");
    const aside = part.filter((e) => !e.result && e.fate === "aside");
    const wait = again.some((e) => e.fate === "wait");
    q.waiting = [...again, ...q.waiting];
    q.aside.push(...aside);
    q.alone = wait && lost;
    q.failures = wait ? q.failures + 1 : 0;
    q.notBefore = now + (wait ? retryAfterMs + this.#backoff(q.failures) : 0);
    if (aside.length) q.asideDue = now + this.#backoff(++q.asides);
    else if (!q.aside.length) q.asides = 0;
    if (!wait && !aside.length) q.most = Math.min(q.most * 2, MOST_MESSAGES);
  }

  // A wait that doubles with each failure, give or take a half.
  #backoff(failures) {
    const { minBackoffMs, maxBackoffMs } = this.#client.times;
    return Math.min(minBackoffMs * 2 ** (failures - 1), maxBackoffMs) * (0.5 + Math.random());
  }
}

const newQueue = () => ({
  waiting: [], aside: [], notBefore: 0, asideDue: 0, failures: 0, asides: 0,
  most: MOST_MESSAGES, // messages of a request
  alone: false, // its last request failed: it shares none
});

const dueOf = (q) => (q.waiting.length ? q.notBefore : Math.max(q.notBefore, q.asideDue));

function documentOf({ body: content, ...rest }) {
  for (const name of ["seq", "first"]) {
    if (typeof rest[name] === "bigint") rest[name] = String(rest[name]);
    if (Number.isInteger(rest[name]) && !Number.isSafeInteger(rest[name])) {
      throw new RangeError(`${name} is ${rest[name]}: beyond 2^53 give a bigint or a string`);
    }
  }
  if (!(content instanceof Uint8Array)) return JSON.stringify({ ...rest, body: content });
  return JSON.stringify({ ...rest, bodyBase64: Buffer.from(content).toString("base64") });
}

function parsed(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

// Takes what the next request has: of one queue alone, or of all that may share.
function compose(ready, now) {
  const parts = [];
  let n = 0;
  let size = 0;
  for (const q of ready[0].alone ? ready.slice(0, 1) : ready.filter((r) => !r.alone)) {
    if (q.aside.length && q.asideDue <= now) {
      q.waiting = q.waiting.concat(q.aside);
      q.aside = [];
    }
    let take = 0;
    while (take < Math.min(q.waiting.length, q.most) && n < MOST_MESSAGES) {
      const bytes = Buffer.byteLength(q.waiting[take].document) + 1;
      if (n && size + bytes > REQUEST_BYTES) break;
      size += bytes;
      n += 1;
      take += 1;
    }
    if (take) parts.push({ queue: q, batch: q.waiting.splice(0, take) });
  }
  return parts;
}

// Reads the result of one message; returns whether it is unknown if it was stored.
function one(e, result) {
  const { status, detail } = Object(result);
  if (!Number.isInteger(status)) return true;
  Object.assign(e, { status, why: `${status}: ${textOf(detail)}` });
  if (status >= 200 && status < 300) e.result = result;
  else if (status === 429) e.fate = "aside";
  else if (status >= 300 && status < 500) e.result = new Refused(e.sent, status, result);
  return !(status >= 200 && status < 500);
}

// Refuses the messages that a problem names; returns whether smaller requests have to find it.
function problem(batch, status, answer) {
  let named = false;
  const given = Array.isArray(answer.errors) ? answer.errors : [];
  const errors = given.filter((e) => e instanceof Object);
  for (const error of status === 400 ? errors : []) {
    const index = Number.isInteger(error.index) ? error.index : -1;
    const place = `messages[${index}]`;
    const e = batch[index];
    if (!e || !textOf(error.field).startsWith(place)) continue;
    const field = error.field.slice(place.length).replace(/^\./, "");
    e.result = new Refused(e.sent, status, error, field);
    named = true;
  }
  if (!named && batch.length === 1) {
    const error = { detail: batch[0].why, ...(errors[0] ?? answer) };
    batch[0].result = new Refused(batch[0].sent, status, error, textOf(error.field));
  }
  for (const e of batch) e.fate = "again";
  return !named && batch.length > 1;
}

// Has messages that are ahead go again where this put has the next one.
function goOn(q, part) {
  const ahead = part.filter((e) => e.result?.position !== undefined);
  if (!ahead.length) return;
  const next = String(BigInt(ahead[0].result.position) + 1n);
  const left = [...q.waiting, ...q.aside, ...part].filter((e) => !e.result);
  if (!left.some((e) => String(e.sent.seq) === next)) return;
  for (const e of ahead) Object.assign(e, { result: undefined, fate: "aside" });
}
