// The client as a program for TestProducers, which holds it to its cases.
import { readFileSync } from "node:fs";
import { Client, GaveUp, Refused } from "../node/index.mjs";

const { STREAMSORT_URL, SIGN_FOR, REQUEST_TIMEOUT, MIN_BACKOFF, MAX_BACKOFF } = process.env;
const client = new Client(STREAMSORT_URL, {
  region: SIGN_FOR, requestTimeoutMs: Number(REQUEST_TIMEOUT),
  minBackoffMs: Number(MIN_BACKOFF), maxBackoffMs: Number(MAX_BACKOFF),
});
const messages = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const results = await client.put(messages).catch((error) => error.results ?? Promise.reject(error));
for (const result of results) {
  if (result instanceof GaveUp) throw result;
  console.log(JSON.stringify(result instanceof Refused ? { status: result.status } : { outcome: result.outcome }));
}
