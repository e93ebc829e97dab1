import base64
import http.server
import json
import pathlib
import re
import sys
import threading
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))
import streamsort  # noqa: E402
from streamsort import client as client_module  # noqa: E402

DOCS = HERE.parents[3] / "docs"


def openapi(name):
    """The members of a schema of the API, and which it requires."""
    text = (DOCS / "openapi.yaml").read_text()
    block = re.search(rf"(?m)^    {name}:\n((?:      .*\n)+)", text)[1]
    required = re.search(r"(?m)^      required: \[(.*)\]", block)[1].split(", ")
    return set(re.findall(r"(?m)^        (\w+):", block)), set(required)


class Types(unittest.TestCase):
    """The types have the members that the schemas have."""

    def check(self, type_, members, required):
        self.assertEqual(type_.__required_keys__ | type_.__optional_keys__, members)
        self.assertEqual(type_.__required_keys__, required)

    def test_delivered(self):
        schema = json.loads((DOCS / "schema" / "lambda.json").read_text())
        for type_, s in (streamsort.Batch, schema), (streamsort.Message, schema["$defs"]["Message"]):
            self.check(type_, set(s["properties"]), set(s["required"]))

    def test_put(self):
        self.check(streamsort.PutMessage, *openapi("Message"))
        self.check(streamsort.Result, *openapi("Result"))


def message(seq, **members):
    return {"seq": seq, "contentType": "application/json", "enqueuedAt": "", **members}


def encoded(content):
    return base64.b64encode(content).decode()


class Consumers(unittest.TestCase):
    def test_body(self):
        for given, want in (
            (message(1, body={"n": 1}), {"n": 1}),
            (message(1, body=None), None),
            (message(1, bodyBase64=encoded(b'{"n": 1}')), {"n": 1}),
            (message(1, contentType="application/x+JSON; v=1", bodyBase64=encoded(b" 2")), 2),
            (message(1, contentType="text/plain", bodyBase64=encoded(b"12")), b"12"),
        ):
            self.assertEqual(streamsort.body(given), want)
        with self.assertRaisesRegex(ValueError, "^message 7 is application/json, and its body is no"):
            streamsort.body(message(7, bodyBase64=encoded(b"secret")))

    def test_each(self):
        batch = {"queue": "q", "messages": [message(3), message("9007199254740993"), message(9)]}
        seen = []
        self.assertIsNone(streamsort.each(batch, lambda m: seen.append(m["seq"])))
        self.assertEqual(seen, [3, "9007199254740993", 9])

        def fails_at(seq):
            def handle(m):
                if m["seq"] == seq:
                    raise LookupError("not there")
            return handle

        with self.assertLogs("streamsort", "ERROR") as logs:
            answer = streamsort.each(batch, fails_at(9))
        self.assertEqual(answer, {"done": "9007199254740993"})
        self.assertIn("message 9 of q failed", logs.output[0])
        self.assertIn("LookupError: not there", logs.output[0])
        with self.assertRaises(LookupError):
            streamsort.each(batch, fails_at(3))


class Webhooks(unittest.TestCase):
    # The standard's own example.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    content = '{"test": 2432232314}'
    headers = {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
        "Webhook-Signature": "v1a,x v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }

    def verify(self, *, content=content, secret=secret, now=1614265400, **headers):
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return streamsort.verify(content, given, secret, now=now)

    def test_good(self):
        for case in (
            {}, {"content": self.content.encode()}, {"secret": ["whsec_" + "A" * 32, self.secret]},
            {"secret": self.secret.removeprefix("whsec_")}, {"now": 1614265330 - 299},
        ):
            self.assertEqual(self.verify(**case), "msg_p5jXN8AQM9LWM0D4loKWxJek")

    def test_refused(self):
        for case, want in (
            ({"content": "{}"}, "by the secret"), ({"secret": "whsec_" + "A" * 32}, "by the secret"),
            ({"Webhook_Id": "other"}, "by the secret"), ({"Webhook_Id": ""}, "webhook-id"),
            ({"Webhook_Signature": ""}, "by the secret"), ({"Webhook_Timestamp": "x"}, "timestamp"),
            ({"Webhook_Signature": self.headers["Webhook-Signature"][4:-1]}, "by the secret"),
            ({"Webhook_Signature": "v1,ä"}, "by the secret"),
            ({"Webhook_Timestamp": "9" * 400}, "timestamp"),
            ({"Webhook_Timestamp": "9" * 5000}, "timestamp"),
            ({"now": 1614265330 + 301}, "more than 300"), ({"now": 1614265330 - 301}, "more than"),
        ):
            with self.subTest(case), self.assertRaisesRegex(streamsort.SignatureError, want):
                self.verify(**case)

    def test_no_age(self):
        for options in {"tolerance": float("nan")}, {"tolerance": float("inf")}, {"now": float("nan")}:
            with self.subTest(options), self.assertRaisesRegex(ValueError, "must be finite"):
                streamsort.verify(self.content, self.headers, self.secret, **options)

    def test_no_secret(self):
        for secret in "whsec_c2hvcnQ=", "", "a secret of words":
            with self.subTest(secret), self.assertRaisesRegex(ValueError, "^a secret must be whsec_"):
                self.verify(secret=secret)
        with self.assertRaises(streamsort.SignatureError):
            self.verify(secret=[])


class Clock:
    """A time that passes by sleeping alone."""

    def __init__(self):
        self.now, self.slept = 1000.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Puts(unittest.TestCase):
    def put(self, messages, *answers, **options):
        """Put messages to an API that gives these answers, the last one for ever."""
        client = streamsort.Client("http://127.0.0.1:1", **options)
        self.requests, self.clock = [], Clock()
        left = list(answers)

        def request(content, timeout):
            self.requests.append(json.loads(content)["messages"])
            status, answer = left.pop(0) if len(left) > 1 else left[0]
            return status, json.dumps(answer).encode(), 0

        with mock.patch.object(client, "_request", request), \
                mock.patch.object(client_module, "time", self.clock):
            return client.put(messages)

    def failed(self, *args, **options):
        with self.assertRaises(streamsort.PutError) as e:
            self.put(*args, **options)
        return e.exception

    def test_results(self):
        stored = {"status": 200, "queue": "q", "outcome": "advanced", "seq": 1}
        given = [{"queue": "q", "seq": 1, "body": b"\0"}]
        self.assertEqual(self.put(given, (200, {"results": [stored]})), [stored])
        self.assertEqual(self.requests, [[{"queue": "q", "seq": 1, "bodyBase64": "AA=="}]])
        self.assertEqual(given, [{"queue": "q", "seq": 1, "body": b"\0"}])
        self.assertEqual(self.put([], (500, {})), [])

    def test_refused(self):
        problem = {"status": 400, "errors": [
            {"field": "messages[1].key", "index": 1, "code": "clash", "detail": "must not be given"}]}
        stored = {"status": 200, "queue": "q", "outcome": "parked"}
        error = self.failed(
            [{"queue": "q", "seq": 1}, {"queue": "q", "seq": 2, "key": 1}],
            (400, problem), (200, {"results": [stored]}))
        refused = error.errors[0]
        self.assertEqual(error.results, [stored, refused])
        self.assertEqual(
            (refused.status, refused.code, refused.field, refused.detail, refused.sent["seq"]),
            (400, "clash", "key", "must not be given", 2))
        self.assertRegex(str(error), r"^1 of 2 messages failed; the first: .*\(400 key\): must not")

    def test_conflict(self):
        refused = self.failed([{"queue": "q", "seq": 1}], (200, {"results": [
            {"status": 409, "queue": "q", "outcome": "conflict", "detail": "another"}]})).errors[0]
        self.assertEqual((refused.status, refused.outcome, refused.position), (409, "conflict", None))

    def test_whole_request_refused(self):
        refused = self.failed([{"queue": "q", "seq": 1}], (413, {"code": "too-large"})).errors[0]
        self.assertEqual((refused.status, refused.code), (413, "too-large"))

    def test_answer_that_does_not_fit(self):
        """A result that cannot be read is as a lost response, and an error as none."""
        stored = {"status": 200, "queue": "q", "outcome": "advanced"}
        for results in ([{}], [None], ["x"], [{"status": "200"}], [{"status": None}], {"a": 1}, "x", 7,
                        [[]], None):
            with self.subTest(results):
                given = [{"queue": "q", "seq": 1}]
                answers = (200, {"results": results}), (200, {"results": [stored]})
                self.assertEqual(self.put(given, *answers), [stored])
                self.assertEqual(len(self.requests), 2)
                self.assertEqual(len(self.clock.slept), 1)
        for errors in ({"x": 1}, ["bad"], [None], 7, [{"index": 0, "field": None}], [{"index": 0}],
                       [{"index": None}], [{"index": "length", "field": "messages[length]"}],
                       [{"index": -1, "field": "messages[-1]"}], [{"index": {}, "field": {}}]):
            with self.subTest(errors):
                sent = [{"queue": "q", "seq": seq} for seq in (1, 2)]
                refused = self.failed(sent, (400, {"errors": errors})).errors
                self.assertEqual([e.sent["seq"] for e in refused], [1, 2])
                self.assertEqual(len(self.requests), 3)
                self.assertIn("400", str(refused[0]))
        for new in None, {}, "x", 1.5, "9" * 5000:
            with self.subTest(new):
                answer = {"status": 409, "outcome": "ahead", "detail": {}, "code": [], "new": new}
                refused = self.failed([{"queue": "q", "seq": 1}], (200, {"results": [answer]})).errors[0]
                self.assertEqual((refused.position, refused.detail, refused.code), (None, "", ""))

    def test_gives_up(self):
        error = self.failed([{"queue": "q"}], (503, {"detail": "later"}), give_up_after=30)
        gave_up = error.errors[0]
        self.assertIsInstance(gave_up, streamsort.GaveUp)
        self.assertEqual((gave_up.status, gave_up.detail), (503, "503: later"))
        self.assertEqual({m[0]["id"] for m in self.requests}, {gave_up.sent["id"]})
        self.assertLess(sum(self.clock.slept), 30)
        self.assertLess(len(self.requests), 20)
        for n, slept in enumerate(self.clock.slept):
            longest = min(0.1 * 2 ** n, 10)
            self.assertTrue(longest / 2 <= slept <= longest * 1.5, (n, slept))

    def test_ahead(self):
        """A message that is ahead goes again behind the next one, where there is that."""
        def answer(*results):
            return 200, {"results": [
                {"queue": "q", "status": status, "outcome": outcome, "new": 4}
                for outcome, status in results]}
        given = [{"queue": "q", "kind": "arrival", "seq": seq} for seq in (5, "6")]
        with mock.patch.object(client_module.random, "uniform", lambda a, b: 1):
            self.put(given, answer(("", 503), ("ahead", 409)), answer(*[("advanced", 200)] * 2))
        self.assertEqual([[m["seq"] for m in r] for r in self.requests], [[5, "6"]] * 2)
        refused = self.failed(given[1:], answer(("ahead", 409))).errors[0]
        self.assertEqual((refused.outcome, refused.position), ("ahead", 4))

    def test_options(self):
        for url, options, want in (
            ("example.com", {}, "url 'example.com' must be like http"),
            ("http://a", {"request_timeout": 0}, "request_timeout is 0: it must be from 1 to 40 sec"),
            ("http://a", {"max_backoff": 0.01}, "max_backoff is 0.01: it must be from 0.1 to 3600"),
            ("http://a", {"give_up_after": 1e9}, "give_up_after is .*: it must be from 1 to 86400"),
            ("http://a", {"token": lambda: "x"}, "must be https"),
            ("http://a", {"region": "us-east-1"}, "must be https"),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                streamsort.Client(url, **options)


class Server(http.server.BaseHTTPRequestHandler):
    """Closes each connection after its answer, and does not say so."""

    protocol_version = "HTTP/1.1"
    tokens: list = []
    retry_after: list = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.tokens.append(self.headers["Authorization"])
        answer = b'{"results":[{"status":200,"queue":"q","outcome":"advanced"}]}'
        self.send_response(429 if self.retry_after else 200)
        for after in self.retry_after:
            self.send_header("Retry-After", after)
        self.retry_after.clear()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = True

    def log_message(self, *args):
        pass


class Connections(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.clock = Clock()
        for name, value in ("time", self.clock), ("MOST_MESSAGES", 1):
            patch = mock.patch.object(client_module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.url = f"http://127.0.0.1:{server.server_port}/"
        Server.tokens.clear()

    def client(self, **options):
        client = streamsort.Client(self.url, **options)
        self.addCleanup(lambda: [c.close() for c in client._idle])
        return client

    def test_idle_connection_that_was_closed(self):
        client = self.client(token=iter("ab").__next__)
        for _ in range(2):
            client.put([{"queue": "q", "seq": 1}])
        self.assertEqual((Server.tokens, self.clock.slept), (["Bearer a", "Bearer b"], []))

    def test_no_token(self):
        """A token that fails is as no answer: what was stored, and under which ids, is not lost."""
        given = [{"queue": "q"}, {"queue": "q"}]
        for failure in OSError("the issuer"), ConnectionResetError("the issuer"), "no\nheader", None:
            with self.subTest(failure):
                Server.tokens.clear()
                token = mock.Mock(side_effect=["a", failure, "b"])
                self.assertEqual(len(self.client(token=token).put(given)), 2)
                self.assertEqual(Server.tokens, ["Bearer a", "Bearer b"])
        token = mock.Mock(side_effect=["a", *[LookupError("the issuer")] * 100])
        with self.assertRaises(streamsort.PutError) as e:
            self.client(token=token).put(given)
        stored, gave_up = e.exception.results
        self.assertEqual((stored["status"], gave_up.status), (200, 0))
        self.assertEqual(gave_up.detail, "no answer: the issuer")
        self.assertRegex(gave_up.sent["id"], "-1$")

    def test_no_credentials(self):
        """No credentials are an error before the first request, and later as no answer."""
        from botocore.credentials import Credentials
        client, keys = self.client(region="eu-north-1"), mock.Mock()
        with mock.patch("botocore.session.Session.get_credentials", lambda _: None), \
                self.assertRaisesRegex(RuntimeError, "must be signed, and there are no credentials"):
            client.put([{"queue": "q"}])
        self.assertEqual((Server.tokens, self.clock.slept), ([], []))
        frozen = Credentials("a", "b").get_frozen_credentials()
        keys.get_frozen_credentials.side_effect = [frozen, RuntimeError("expired"), frozen]
        with mock.patch("botocore.session.Session.get_credentials", lambda _: keys):
            self.assertEqual(len(client.put([{"queue": "q"}, {"queue": "q"}])), 2)
        self.assertEqual((len(Server.tokens), len(self.clock.slept)), (2, 1))

    def test_retry_after(self):
        for after, least, most in (
            ("7", 7, 8), ("100", 60, 61), ("²", 0, 1), ("-5", 0, 1), ("9" * 5000, 60, 61),
        ):
            with self.subTest(after):
                Server.retry_after.append(after)
                self.clock.slept.clear()
                self.client(give_up_after=100).put([{"queue": "q", "seq": 1}])
                self.assertTrue(least < self.clock.slept[0] < most, self.clock.slept)


if __name__ == "__main__":
    unittest.main()
