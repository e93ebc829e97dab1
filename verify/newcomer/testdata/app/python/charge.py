"""A new user's consumer: it fails at each queue's first batch once, as a bank does."""

import time


def handler(document, _context):
    seqs = [message["seq"] for message in document["messages"]]
    print("charge", document["queue"], seqs, "attempt", document["attempt"], "at", time.time())
    if document["from"] == 0 and document["attempt"] == 1:
        raise RuntimeError("the bank does not answer")
