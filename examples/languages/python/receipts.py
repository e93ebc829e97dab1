"""A consumer in Python: it answers each order with a receipt.

process calls handler with each batch of a queue, in order (docs/how-to/sinks.md). Its replies are
put into the queue "receipts" exactly once if the batch is committed, and not at all
otherwise. So it needs no memory of its own: a batch that comes again is answered again, and
counts once.
"""

import base64
import json


def handler(document, _context):
    return {"replies": [reply(document["queue"], message) for message in document["messages"]]}


def reply(queue, message):
    """A receipt for one order. An error has the batch tried again, in the end this message
    alone, and then blocks the queue for this consumer. Never put a payload into its text."""
    order = body(message)
    if not isinstance(order.get("cents"), int):
        raise ValueError(f"message {message['seq']} of {queue}: cents is missing, or no integer")
    return {
        "queue": "receipts",
        "id": f"{queue}/{message['seq']}",
        "body": {"order": queue, "seq": message["seq"], "cents": order["cents"]},
    }


def body(message):
    """JSON stands in the document as it came; what would not come out byte for byte, as JSON
    with white space in it, is in base64."""
    if "bodyBase64" in message:
        return json.loads(base64.b64decode(message["bodyBase64"]))
    return message["body"]
