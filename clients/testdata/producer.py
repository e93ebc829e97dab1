"""The client as a program for TestProducers, which holds it to its cases."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import streamsort  # noqa: E402


def seconds(name):
    return float(os.environ[name]) / 1000


client = streamsort.Client(
    os.environ["STREAMSORT_URL"], region=os.environ.get("SIGN_FOR"),
    request_timeout=seconds("REQUEST_TIMEOUT"),
    min_backoff=seconds("MIN_BACKOFF"), max_backoff=seconds("MAX_BACKOFF"),
)
try:
    results = client.put(json.loads(line) for line in sys.stdin)
except streamsort.PutError as error:
    results = error.results
for result in results:
    if isinstance(result, streamsort.GaveUp):
        raise result
    refused = isinstance(result, streamsort.Refused)
    print(json.dumps({"status": result.status} if refused else {"outcome": result["outcome"]}))
