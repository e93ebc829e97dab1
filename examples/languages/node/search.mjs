// A consumer in Node: it keeps a search index up to date, a document for each queue, with
// the state that the queue's latest message has.
//
// process calls handler with each batch of a queue, in order (docs/how-to/sinks.md). Delivery is at
// least once, so the index is told the message's seq as the document's version: it refuses
// with 409 what is not newer than what it has, be it a repeat or a process that woke up too
// late. (That is OpenSearch's and Elasticsearch's version_type=external.)

export async function handler(document) {
  // Of several messages the last one's state counts; one call a batch is enough.
  const latest = document.messages.at(-1);
  if (latest) await index(document.queue, latest);
}

async function index(queue, message) {
  const url = new URL(`orders/_doc/${encodeURIComponent(queue)}`, process.env.INDEX_URL);
  url.search = new URLSearchParams({ version: message.seq, version_type: "external" });
  const answer = await fetch(url, { method: "PUT", headers: { "content-type": "application/json" }, body: bodyOf(message) });
  if (!answer.ok && answer.status !== 409) {
    // The batch is tried again, and every other queue goes on. Never put a payload into the text.
    throw new Error(`message ${message.seq} of ${queue}: the index answered ${answer.status}`);
  }
}

// JSON stands in the document as it came, anything else in base64.
function bodyOf(message) {
  return message.bodyBase64 === undefined ? JSON.stringify(message.body) : Buffer.from(message.bodyBase64, "base64");
}
