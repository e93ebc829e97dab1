// Gets messages of one queue, in order. What it throws has the batch come again.
export async function handler(batch) {
  for (const message of batch.messages) {
    console.log(`${batch.queue} ${message.seq}: ${total(body(message))} cents`);
  }
}

export const total = (order) => order.items.reduce((sum, item) => sum + item.cents, 0);

// JSON with white space in it comes in base64, so that no byte changes.
function body(message) {
  return message.bodyBase64 === undefined ? message.body : JSON.parse(Buffer.from(message.bodyBase64, "base64"));
}
