"""What is put, and what a consumer gets: docs/openapi.yaml and docs/schema/lambda.json."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

#: A number up to 2**53, a str of digits beyond.
Seq = Union[int, str]


class _ToQueue(TypedDict):
    queue: str


class PutMessage(_ToQueue, total=False):
    """A message to put, as POST /messages takes it; a body of bytes is put as it is.

    With a seq it is for a numbered queue, with a key and an id for a keyed one, without both for
    one in arrival order.
    """

    seq: Seq
    first: Seq | Literal["here"]
    kind: Literal["arrival"]
    key: Any
    keyType: str
    prev: str
    id: str
    body: Any
    bodyBase64: str
    contentType: str
    attributes: dict[str, str]
    traceparent: str
    tracestate: str


class _Placed(TypedDict):
    status: int
    queue: str


class Result(_Placed, total=False):
    """What became of a message that was accepted: outcome is advanced, parked, duplicate, …"""

    outcome: str
    seq: Seq
    old: Seq
    new: Seq
    late: bool
    settlesAt: str
    maxAhead: int
    clockAhead: bool
    first: Seq
    detail: str
    code: str


class _MessageRequired(TypedDict):
    seq: Seq
    contentType: str
    enqueuedAt: str


class Message(_MessageRequired, total=False):
    """A message of a batch. body() reads its body."""

    key: Any
    late: bool
    unlinked: bool
    id: str
    body: Any
    bodyBase64: str
    attributes: dict[str, str]
    traceparent: str
    tracestate: str
    edge: str


_BatchRequired = TypedDict("_BatchRequired", {  # "from" is no name of a class's member
    "queue": str, "consumer": str, "token": str, "tokenN": Seq, "from": Seq, "to": Seq,
    "attempt": int, "rewinds": int, "messages": list[Message], "skipped": list[Seq],
})


class Batch(_BatchRequired, total=False):
    """What a consumer's function is called with: every seq after "from", up to "to"."""

    tenant: str


class Done(TypedDict):
    """The messages up to this seq are done; those behind it come again."""

    done: Seq


class _Failure(TypedDict):
    itemIdentifier: str


class BatchItemFailures(TypedDict):
    """The messages before the first failure are done; the others come again."""

    batchItemFailures: list[_Failure]


class Replies(TypedDict):
    """The batch is done, and these messages are put, once."""

    replies: list[PutMessage]


class Defer(TypedDict):
    """The batch is committed later, with PATCH /claims and its token."""

    deferSeconds: int


#: What a consumer's function may return; None says that the whole batch is done.
Answer = Union[Done, BatchItemFailures, Replies, Defer, None]
