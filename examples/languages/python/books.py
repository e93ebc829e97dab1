"""Books each message of a queue exactly once, in order, in a database of its own.

    python3 books.py URL QUEUE DATABASE [NUMBER]

Kill it at any moment, and run any number of copies. It exits with 1 where the database, or
Streamsort's tables, were restored from a backup: docs/how-to/restore.md says what to type. NUMBER,
once, has a database that was restored taken to know all claims up to that one.

The database is SQLite, which Python has. In another one, begin a plain transaction: two
transactions that insert the same marker wait for each other there.
"""

import base64
import json
import sqlite3
import sys
import time
import traceback
import urllib.error
import urllib.request
import uuid

URL, QUEUE, DATABASE = sys.argv[1:4]
CONSUMER = "books"  # another database needs another name

TABLES = """
CREATE TABLE IF NOT EXISTS booked (queue TEXT, seq INTEGER, cents INTEGER);
CREATE TABLE IF NOT EXISTS markers (
    queue TEXT, consumer TEXT, number INTEGER, request TEXT,
    outcome TEXT, rewinds INTEGER, upto INTEGER,
    PRIMARY KEY (queue, consumer, number, request));
"""


def effect(db, batch):
    """The work, by this transaction alone. What it raises has the batch come again."""
    for message in batch.get("messages", []):
        body = message.get("body")
        if "bodyBase64" in message:  # JSON with white space, byte for byte
            body = json.loads(base64.b64decode(message["bodyBase64"]))
        db.execute("INSERT INTO booked VALUES (?, ?, ?)", (QUEUE, message["seq"], body["cents"]))


def ask(method, path, **document):
    """The answer of the API. A call is repeated until it is answered, with the same answer."""
    document = {"queue": QUEUE, "consumer": CONSUMER, **document}
    request = urllib.request.Request(URL + path, json.dumps(document).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    while True:
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise SystemExit(f"{error.code}: {error.read().decode()}")
        except OSError:
            pass
        time.sleep(1)


def on_claim(action, token, **more):
    return ask("PATCH", "/claims", action=action, token=token, **more)


def name(token):
    """The claim's whole name: its queue, consumer, number and request."""
    number, request = token.split("-", 1)
    return QUEUE, CONSUMER, int(number), request


def last_marker(db):
    """Number, rewinds and last seq of the last claim that is committed in this database."""
    return db.execute(
        "SELECT number, rewinds, upto FROM markers WHERE queue = ? AND consumer = ?"
        " AND outcome = 'COMMITTED' ORDER BY number DESC LIMIT 1", (QUEUE, CONSUMER),
    ).fetchone() or (0, 0, -1)


def mark(db, token, outcome, rewinds=0, upto=-1):
    """Adds a claim's marker, unless it has one, and returns the outcome that stands there."""
    db.execute("INSERT INTO markers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
               (*name(token), outcome, rewinds, upto))
    return db.execute("SELECT outcome FROM markers WHERE queue = ? AND consumer = ?"
                      " AND number = ? AND request = ?", name(token)).fetchone()[0]


def settle(db, token):
    """Says how a claim in doubt ended. Only its marker knows: without one it never commits."""
    db.execute("BEGIN IMMEDIATE")
    outcome = mark(db, token, "ABORTED")
    db.execute("COMMIT")
    answer = on_claim("settle", token, outcome=outcome, reason="found in doubt")
    if outcome == "COMMITTED" and answer.get("reason") in ("ABORTED", "CANCELLED"):
        raise SystemExit(f"claim {token} is committed here, and ended otherwise: {answer}")


class Ahead(Exception):
    pass


def apply(db, batch):
    """One batch in one transaction: effect, marker, prepare, commit. Then it reports the commit."""
    token, rewinds, prepared = batch["token"], batch.get("rewinds", 0), False
    db.execute("BEGIN IMMEDIATE")
    try:
        _, then, upto = last_marker(db)
        if then > rewinds or then == rewinds and upto >= batch["from"]:
            raise Ahead(f"{DATABASE} has all up to {upto}, and is handed {batch['from']} again:"
                        " the tables were restored, or the consumer was recreated")
        effect(db, batch)
        if mark(db, token, "COMMITTED", rewinds, batch["to"]) != "COMMITTED":
            raise RuntimeError("another process has settled the claim as aborted")
        prepared = True
        answer = on_claim("prepare", token)
        if answer["outcome"] != "OK":
            raise RuntimeError(f"the claim may not be committed: {answer}")
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if not prepared:  # else the claim is in doubt, and is settled when it is found so
            answer = on_claim("abort", token, reason=repr(error))
            if isinstance(error, Ahead) and answer["outcome"] == "OK":
                raise SystemExit(error)
        if not isinstance(error, Exception):
            raise
        print(f"{QUEUE} {batch['from']} to {batch['to']} comes again:", file=sys.stderr)
        traceback.print_exc()
        return
    on_claim("commit", token)


def restored(db, answer):
    """Ends the program where the database does not know a claim that was committed in it."""
    last, _, upto = last_marker(db)
    if last >= answer.get("committed", 0):
        return
    if answer["outcome"] == "OK":
        on_claim("abort", answer["token"], reason="the database was restored")
    raise SystemExit(f"{DATABASE} knows claims up to {last}, with all before seq {upto + 1}, and"
                     f" number {answer['committed']} is committed: it is another one, or restored")


def main():
    db = sqlite3.connect(DATABASE, timeout=60, isolation_level=None)
    db.executescript(TABLES)
    if sys.argv[4:]:
        mark(db, sys.argv[4] + "-acknowledged", "COMMITTED", *last_marker(db)[1:])
    ask("POST", "/consumers", start="first")  # one that is there stays as it is
    waits = "EMPTY"
    while True:
        # A batch that may take longer has its lease moved: on_claim("extend", token).
        answer = ask("POST", "/claims", request=uuid.uuid4().hex, leaseSeconds=30)
        restored(db, answer)
        for token in answer.get("unsettled", []):
            settle(db, token)
        if answer["outcome"] == "OK":
            apply(db, answer)
        elif answer["outcome"] == "IN_DOUBT":
            settle(db, answer["token"])
        else:  # EMPTY, BUSY, WAIT; or PAUSED, BLOCKED, MISSING, until an operator acts
            if answer["outcome"] != waits:
                waits = answer["outcome"]
                print(f"{QUEUE}: {waits} {answer.get('until', '')}", file=sys.stderr)
            time.sleep(1)


if __name__ == "__main__":
    main()
