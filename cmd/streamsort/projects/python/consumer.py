import base64
import json


def handler(batch, context):
    """Gets messages of one queue, in order. What it raises has the batch come again."""
    for message in batch["messages"]:
        print(f"{batch['queue']} {message['seq']}: {total(body(message))} cents")


def total(order):
    return sum(item["cents"] for item in order["items"])


def body(message):
    """JSON with white space in it comes in base64, so that no byte changes."""
    if "bodyBase64" in message:
        return json.loads(base64.b64decode(message["bodyBase64"]))
    return message["body"]
