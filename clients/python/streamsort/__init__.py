"""Streamsort for Python: put messages, consume batches in order, verify webhooks.

    client = streamsort.Client("https://ID.execute-api.REGION.amazonaws.com")
    client.put([{"queue": "orders", "seq": 1, "body": {"total": 12}}])

    def handler(batch, context):
        return streamsort.each(batch, book)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .client import Client, GaveUp, PutError, Refused
from .types import Answer, Batch, Done, Message, PutMessage, Result, Seq

__version__ = "0.0.0"
__all__ = [
    "Answer", "Batch", "Client", "GaveUp", "Message", "PutError", "PutMessage", "Refused",
    "Result", "Seq", "SignatureError", "body", "done", "each", "verify",
]

log = logging.getLogger("streamsort")


def body(message: Message) -> Any:
    """Return a message's body: the value of one that is JSON, the bytes of any other.

    Raise ValueError for one that says it is JSON and is not.
    """
    if "bodyBase64" not in message:
        return message["body"]
    content = base64.b64decode(message["bodyBase64"])
    media = message["contentType"].partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        return content
    try:
        return json.loads(content)
    except ValueError:
        raise ValueError(f"message {message['seq']} is {media}, and its body is no JSON") from None


def done(message: Message) -> Done:
    """Return the answer that the messages up to this one are done."""
    return {"done": message["seq"]}


def each(batch: Batch, handle: Callable[[Message], object]) -> Answer:
    """Call handle with each message in order, and return the answer for the batch.

    Where handle raises, the messages before are done: the error is logged, and the batch comes
    again from the failed message on. Raise the error where it is the first message's.
    """
    before = None
    for message in batch["messages"]:
        try:
            handle(message)
        except Exception:
            if before is None:
                raise
            log.exception("message %s of %s failed", message["seq"], batch["queue"])
            return done(before)
        before = message
    return None


class SignatureError(Exception):
    """A webhook that is not signed with the secret, or is older than the tolerance."""


def verify(
    content: bytes | str, headers: Mapping[str, str], secrets: str | Sequence[str], *,
    tolerance: float = 300, now: float | None = None,
) -> str:
    """Verify a webhook by Standard Webhooks, and return its id, which a repeat has too.

    content is the request's body as it came, unparsed. secrets is one secret, or several while
    one is changed for another. tolerance is the greatest age in seconds. Raise SignatureError
    for a webhook to refuse, ValueError for a secret, tolerance or now that is none.
    """
    now = time.time() if now is None else now
    if not (math.isfinite(tolerance) and math.isfinite(now)):
        raise ValueError(f"tolerance ({tolerance}) and now ({now}) must be finite: give seconds")
    fields = {name.lower(): value for name, value in headers.items()}
    at, name = fields.get("webhook-timestamp", ""), fields.get("webhook-id", "")
    if not name or not (at.isascii() and at.isdigit() and len(at) <= 12):
        raise SignatureError("webhook-id or webhook-timestamp is missing or is not valid")
    if not abs(now - int(at)) <= tolerance:
        raise SignatureError(f"webhook-timestamp {at} is more than {tolerance} seconds away")
    signed = f"{name}.{at}.".encode() + (content.encode() if isinstance(content, str) else content)
    given = [s[3:] for s in fields.get("webhook-signature", "").split() if s.startswith("v1,")]
    for key in [_key(s) for s in ([secrets] if isinstance(secrets, str) else secrets)]:
        want = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(want, s.encode()) for s in given):
            return name
    raise SignatureError("no signature in webhook-signature is by the secret")


def _key(secret: str) -> bytes:
    text = secret.strip().removeprefix("v1,").removeprefix("whsec_").rstrip("=")
    text = text.replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < 16:
        raise ValueError("a secret must be whsec_ and at least 16 bytes in base64")
    return key
