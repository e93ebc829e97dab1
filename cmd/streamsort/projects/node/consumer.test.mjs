import assert from "node:assert/strict";
import { test } from "node:test";

import { handler, total } from "./consumer.mjs";

test("total", () => assert.equal(total({ items: [{ cents: 900 }, { cents: 300 }] }), 1200));

test("handler", async () => {
  await handler({ queue: "orders", messages: [{ seq: 1, bodyBase64: "eyJpdGVtcyI6IFtdfQ==" }] });
  await assert.rejects(handler({ queue: "orders", messages: [{ seq: 1, body: {} }] }), TypeError);
});
