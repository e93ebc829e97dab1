// Streamsort for Node: put messages, consume batches in order, verify webhooks. index.d.ts has
// the types and says what each part does.

import { createHmac, timingSafeEqual } from "node:crypto";

export { Client, GaveUp, PutError, Refused } from "./client.mjs";

export function body(message) {
  if (message.bodyBase64 === undefined) return message.body;
  const content = Buffer.from(message.bodyBase64, "base64");
  const media = message.contentType.split(";")[0].trim().toLowerCase();
  if (media !== "application/json" && !media.endsWith("+json")) return content;
  try {
    return JSON.parse(content.toString());
  } catch {
    // JSON.parse would put a part of the payload into its text.
    throw new Error(`message ${message.seq} is ${media}, and its body is no JSON`);
  }
}

export const done = (message) => ({ done: message.seq });

export async function each(batch, handle) {
  let before;
  for (const message of batch.messages) {
    try {
      await handle(message);
    } catch (error) {
      if (before === undefined) throw error;
      console.error(`message ${message.seq} of ${batch.queue} failed`, error);
      return done(before);
    }
    before = message;
  }
}

export class SignatureError extends Error {
  name = "SignatureError";
}

export function verify(content, headers, secrets, options = {}) {
  const { toleranceSeconds = 300, now = Date.now() } = options;
  if (!Number.isFinite(toleranceSeconds) || !Number.isFinite(now)) {
    throw new TypeError(`toleranceSeconds (${toleranceSeconds}) and now (${now}) must be finite: `
      + "give seconds, and milliseconds");
  }
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const fields = new Map(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
  const id = fields.get("webhook-id");
  const at = fields.get("webhook-timestamp");
  if (!id || !/^\d{1,12}$/.test(at ?? "")) {
    throw new SignatureError("webhook-id or webhook-timestamp is missing or is not valid");
  }
  if (!(Math.abs(now / 1000 - Number(at)) <= toleranceSeconds)) {
    throw new SignatureError(`webhook-timestamp ${at} is over ${toleranceSeconds} seconds away`);
  }
  const given = (fields.get("webhook-signature") ?? "").split(" ")
    .filter((s) => s.startsWith("v1,")).map((s) => Buffer.from(s.slice(3)));
  for (const key of [secrets].flat().map(keyOf)) {
    const hmac = createHmac("sha256", key).update(`${id}.${at}.`).update(content);
    const want = Buffer.from(hmac.digest("base64"));
    if (given.some((s) => s.length === want.length && timingSafeEqual(s, want))) return id;
  }
  throw new SignatureError("no signature in webhook-signature is by the secret");
}

function keyOf(secret) {
  const text = secret.trim().replace(/^(v1,)?(whsec_)?/, "").replace(/=+$/, "");
  const key = Buffer.from(text, "base64"); // which passes over what is not base64
  if (!/^[\w+/-]+$/.test(text) || key.length < 16) {
    throw new TypeError("a secret must be whsec_ and at least 16 bytes in base64");
  }
  return key;
}
