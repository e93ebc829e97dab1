"""Put messages in batches, each until it is answered for good: see Client.put."""

from __future__ import annotations

import base64
import http.client
import json
import random
import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from .types import PutMessage, Result

MOST_MESSAGES = 500  # of a request
REQUEST_BYTES = 480 << 10  # of a request's messages; a larger message goes alone
MOST_RETRY_AFTER = 60  # seconds


def _text(answer: dict[str, Any], name: str) -> str:
    """Return a member that is a string; empty for any other."""
    value = answer.get(name)
    return value if isinstance(value, str) else ""


class _Failed(Exception):
    def __init__(self, sent: PutMessage, status: int, detail: str) -> None:
        super().__init__(detail)
        #: The message as it was sent, with its id: another put of it is a repeat.
        self.sent = sent
        #: The status of the last answer about it; 0 where there was none.
        self.status = status
        self.detail = detail


class Refused(_Failed):
    """A message that the API refuses for good or, beside the outcome ahead, for now."""

    def __init__(self, sent: PutMessage, status: int, answer: Any, field: str = "") -> None:
        super().__init__(sent, status, _text(answer, "detail"))
        self.outcome = _text(answer, "outcome")
        self.code = _text(answer, "code")
        #: The member of the message that is wrong, where one is.
        self.field = field
        #: The queue's position, beside ahead: put the message of the next seq first.
        new = self.outcome == "ahead" and re.fullmatch("-?[0-9]{1,19}", str(answer.get("new")))
        self.position = int(new[0]) if new else None

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.outcome or str(self.status), self.field)))
        return f"the message was refused ({what}): {self.detail}"


class GaveUp(_Failed):
    """A message without an answer within give_up_after: it may be stored. Put it again."""

    def __str__(self) -> str:
        return f"given up: {self.detail or 'there was no time to send it'}"


class PutError(Exception):
    """Some messages of a put were not accepted. results has a Result or an error for each."""

    def __init__(self, results: list[Result | Refused | GaveUp]) -> None:
        self.results = results
        self.errors = [r for r in results if isinstance(r, (Refused, GaveUp))]
        super().__init__(f"{len(self.errors)} of {len(results)} messages failed; "
                         f"the first: {self.errors[0]}")


class Client:
    """The API at a URL. Any number of threads may put.

    Requests to AWS's own names are signed for IAM, with botocore and its credentials; region
    signs for a custom domain too. token returns the JWT of each request of the tenants' API.
    """

    def __init__(self, url: str, *, region: str | None = None,
                 token: Callable[[], str] | None = None, request_timeout: float = 15,
                 min_backoff: float = 0.1, max_backoff: float = 10,
                 give_up_after: float = 60) -> None:
        parts = urlsplit(url.rstrip("/") + "/messages")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url {url!r} must be like http://127.0.0.1:3000 or "
                             "https://ID.execute-api.REGION.amazonaws.com")
        for name, value, least, most in (
            ("request_timeout", request_timeout, 1, 40), ("min_backoff", min_backoff, 0.001, 3600),
            ("max_backoff", max_backoff, min_backoff, 3600),
            ("give_up_after", give_up_after, 1, 86400),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: it must be from {least} to {most} seconds")
        service, named = _of_aws(parts.hostname)
        self._parts, self._token, self._signing = parts, token, None
        if token is None and (service or region):
            self._signing = (service or "execute-api", region or named)
        local = parts.hostname in ("localhost", "::1") or parts.hostname.startswith("127.")
        if parts.scheme == "http" and not local and (token or self._signing):
            raise ValueError(f"url {url!r} must be https: anybody on the way could repeat requests")
        self._keys: Any = None
        self._idle: list[http.client.HTTPConnection] = []
        self.request_timeout, self.give_up_after = request_timeout, give_up_after
        self.min_backoff, self.max_backoff = min_backoff, max_backoff

    def put(self, messages: Iterable[PutMessage]) -> list[Result]:
        """Put messages, and return the result of each in their order.

        Requests have up to 500 messages and go one after the other, the messages of a queue in
        their order. A request or message that may pass later (no token, no answer, 401, 403, 404,
        408, 429, 5xx) is repeated under the same seq, key or id, with growing waits, for
        give_up_after seconds. A message without seq, key and id gets an id. Raise PutError where
        some fail, and another error where nothing was sent.
        """
        if self._signing and not self._keys:
            self._keys = self._credentials()
        return _Put(self, messages).run()

    def _request(self, content: bytes, timeout: float) -> tuple[int, bytes, float]:
        """Make a request once: its status, body and Retry-After; status 0 without an answer."""
        try:
            response, text = self._exchange(content, self._authorized(content), timeout)
        except Exception as error:  # of the connection, of token or of the credentials
            why = f"no answer: {str(error) or type(error).__name__}"
            return 0, why.encode(errors="replace"), 0
        after = response.getheader("Retry-After", "") if response.status == 429 else ""
        seconds = int(after[:9]) if after.isdecimal() else 0
        return response.status, text, min(seconds, MOST_RETRY_AFTER)

    def _exchange(self, content: bytes, headers: dict[str, str],
                  timeout: float) -> tuple[http.client.HTTPResponse, bytes]:
        secure = self._parts.scheme == "https"
        connect: Any = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        while True:
            kept = self._idle.pop() if self._idle else None
            connection = kept or connect(self._parts.hostname, self._parts.port, timeout=timeout)
            try:
                if kept and kept.sock:
                    kept.sock.settimeout(timeout)
                connection.request("POST", self._parts.path, content, headers)
                response = connection.getresponse()
                text = response.read()
                self._idle.append(connection)
                return response, text
            except Exception as error:
                connection.close()
                if not (kept and isinstance(error, ConnectionError)):  # closed while it was idle
                    raise

    def _authorized(self, content: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token()
        if not self._signing:
            return headers
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        request = AWSRequest("POST", self._parts.geturl(), headers=headers, data=content)
        SigV4Auth(self._keys.get_frozen_credentials(), *self._signing).add_auth(request)
        return dict(request.headers.items())

    def _credentials(self) -> Any:
        from botocore.session import Session
        keys = Session().get_credentials()
        if not keys:
            raise RuntimeError(f"requests to {self._parts.netloc} must be signed, and there are no "
                               "credentials: set AWS_PROFILE, or run under a role")
        return keys


def _of_aws(host: str) -> tuple[str, str]:
    """Return the service and region that a host is named by, empty where it is not of AWS."""
    parts = host.split(".")
    service = {"execute-api": "execute-api", "lambda-url": "lambda"}.get((parts + [""])[1], "")
    if service and host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".on.aws")):
        return service, parts[2]
    return "", ""


@dataclass
class _Entry:
    """A message on its way."""

    sent: PutMessage
    document: bytes
    result: Result | Refused | GaveUp | None = None
    # What the last request means for it: it goes again at once, after a wait, or aside, where
    # those behind it do not wait.
    fate: Literal["again", "wait", "aside"] = "again"
    status: int = 0
    why: str = ""


@dataclass
class _Line:
    """What is to be put into one queue."""

    waiting: deque[_Entry] = field(default_factory=deque)
    aside: list[_Entry] = field(default_factory=list)
    not_before: float = 0
    aside_due: float = 0
    failures: int = 0
    asides: int = 0
    most: int = MOST_MESSAGES  # of a request
    alone: bool = False  # its last request failed: it shares none

    def due(self) -> float:
        return self.not_before if self.waiting else max(self.not_before, self.aside_due)


class _Put:
    """One call of Client.put."""

    def __init__(self, client: Client, messages: Iterable[PutMessage]) -> None:
        self.client = client
        self.deadline = time.monotonic() + client.give_up_after
        self.entries: list[_Entry] = []
        self.lines: dict[Any, _Line] = {}
        made = uuid.uuid4().hex
        for message in messages:
            sent: dict[str, Any] = dict(message)
            if not {"seq", "key", "id"} & sent.keys():
                sent["id"] = f"{made}-{len(self.entries)}"
            content = sent.get("body")
            written = dict(sent)
            if isinstance(content, (bytes, bytearray, memoryview)):
                del written["body"]
                written["bodyBase64"] = base64.b64encode(content).decode()
            text = json.dumps(written, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            entry = _Entry(sent, text.encode())  # type: ignore[arg-type]
            self.entries.append(entry)
            self.lines.setdefault(sent.get("queue"), _Line()).waiting.append(entry)

    def run(self) -> list[Any]:
        while lines := [q for q in self.lines.values() if q.waiting or q.aside]:
            now = time.monotonic()
            due = min(q.due() for q in lines)
            if now >= self.deadline or due >= self.deadline:
                break
            if due > now:
                time.sleep(due - now)
                continue
            parts = self.compose(sorted((q for q in lines if q.due() <= now), key=_Line.due), now)
            content = b",".join(e.document for _, batch in parts for e in batch)
            timeout = min(self.client.request_timeout, max(1.0, self.deadline - now))
            answer = self.client._request(b'{"messages":[' + content + b"]}", timeout)
            self.judge(parts, *answer)
        for e in self.entries:
            if e.result is None:
                e.result = GaveUp(e.sent, e.status, e.why)
        results: list[Any] = [e.result for e in self.entries]
        if any(isinstance(r, _Failed) for r in results):
            raise PutError(results)
        return results

    def compose(self, ready: list[_Line], now: float) -> list[tuple[_Line, list[_Entry]]]:
        """Take what the next request has: of one line alone, or of all that may share."""
        parts, n, size = [], 0, 0
        for q in ready[:1] if ready[0].alone else (q for q in ready if not q.alone):
            if q.aside and q.aside_due <= now:
                q.waiting.extend(q.aside)
                q.aside = []
            batch: list[_Entry] = []
            while q.waiting and len(batch) < q.most and n < MOST_MESSAGES:
                if n and size + len(q.waiting[0].document) > REQUEST_BYTES:
                    break
                size += len(q.waiting[0].document) + 1
                n += 1
                batch.append(q.waiting.popleft())
            if batch:
                parts.append((q, batch))
        return parts

    def judge(self, parts: list[tuple[_Line, list[_Entry]]], status: int, text: bytes,
              retry_after: float) -> None:
        """Give each message what the answer means for it, and each queue its next turn."""
        batch = [e for _, part in parts for e in part]
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        results = answer.get("results")
        why = (_text(answer, "detail") or _text(answer, "message")
               or text[:200].decode(errors="replace"))
        for e in batch:
            e.fate, e.status, e.why = "wait", status, f"{status}: {why}" if status else why
        lost = split = False
        fits = isinstance(results, list) and len(results) == len(batch)
        if 200 <= status < 300 and fits:
            for e, result in zip(batch, results):
                lost = self.one(e, result) or lost
        elif status < 400 or status >= 500:
            lost = True
        elif status not in (401, 403, 404, 408, 429):
            split = self.problem(batch, status, answer)
        now = time.monotonic()
        for q, part in parts:
            self.go_on(q, part)
            self.turn(q, part, now, retry_after, lost)
            if split and len(parts) > 1:
                q.alone = True
            elif split:
                q.most = max(len(part) // 2, 1)

    def one(self, e: _Entry, result: Any) -> bool:
        """Read the result of one message; whether it is unknown if it was stored."""
        status = result.get("status") if isinstance(result, dict) else None
        if not isinstance(status, int):
            return True
        e.status, e.why = status, f"{status}: {_text(result, 'detail')}"
        if 200 <= status < 300:
            e.result = result
        elif status == 429:
            e.fate = "aside"
        elif 300 <= status < 500:
            e.result = Refused(e.sent, status, result)
        return not (200 <= status < 500)

    def problem(self, batch: list[_Entry], status: int, answer: dict[str, Any]) -> bool:
        """Refuse the messages that a problem names; whether smaller requests have to find it."""
        named, errors = False, answer.get("errors")
        errors = [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        for error in errors if status == 400 else []:
            index, name = error.get("index"), _text(error, "field")
            place = f"messages[{index}]"
            if isinstance(index, int) and 0 <= index < len(batch) and name.startswith(place):
                e = batch[index]
                e.result = Refused(e.sent, status, error, name[len(place):].lstrip("."))
                named = True
        if not named and len(batch) == 1:
            e, error = batch[0], {"detail": batch[0].why, **(errors or [answer])[0]}
            e.result = Refused(e.sent, status, error, _text(error, "field"))
        for e in batch:
            e.fate = "again"
        return not named and len(batch) > 1

    def go_on(self, q: _Line, part: list[_Entry]) -> None:
        """Have messages that are ahead go again where this put has the next one."""
        ahead = [(e, e.result.position) for e in part
                 if isinstance(e.result, Refused) and e.result.position is not None]
        left = (e for e in (*q.waiting, *q.aside, *part) if e.result is None)
        if ahead and str(ahead[0][1] + 1) in (str(e.sent.get("seq")) for e in left):
            for e, _ in ahead:
                e.result, e.fate = None, "aside"

    def turn(self, q: _Line, part: list[_Entry], now: float, after: float, lost: bool) -> None:
        """Put back what goes again, and say when."""
        again = [e for e in part if e.result is None and e.fate != "aside"]
        aside = [e for e in part if e.result is None and e.fate == "aside"]
        wait = any(e.fate == "wait" for e in again)
        q.waiting.extendleft(reversed(again))
        q.aside += aside
        q.alone = wait and lost
        q.failures = q.failures + 1 if wait else 0
        q.not_before = now + (after + self.backoff(q.failures) if wait else 0)
        if aside:
            q.asides += 1
            q.aside_due = now + self.backoff(q.asides)
        elif not q.aside:
            q.asides = 0
        if not wait and not aside:
            q.most = min(q.most * 2, MOST_MESSAGES)

    def backoff(self, failures: int) -> float:
        """Return a wait that doubles with each failure, give or take a half."""
        longest = self.client.min_backoff * 2.0 ** min(failures - 1, 30)
        return min(longest, self.client.max_backoff) * random.uniform(0.5, 1.5)
