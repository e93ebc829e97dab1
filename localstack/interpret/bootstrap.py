# What runs a function in Python on the local stack, by the Runtime API that AWS documents
# ("Using the Lambda runtime API for custom runtimes"), with nothing but Python: it asks for
# work, calls the handler with it, and posts what that returns or raises.
import http.client
import importlib
import json
import logging
import os
import sys
import time
import traceback

env = os.environ
api = http.client.HTTPConnection(env["AWS_LAMBDA_RUNTIME_API"])


def call(method, path, body=None):
    api.request(method, "/2018-06-01/runtime/" + path, body, {"Content-Type": "application/json"})
    answer = api.getresponse()
    return answer.headers, answer.read()


class HandlerNotFound(Exception):
    pass


def failure(error):
    """Prints an error as Python does, and returns Lambda's document of it."""
    shown = traceback.TracebackException.from_exception(error)
    # This file has no name, and the importer's frames say nothing.
    own = [f for f in shown.stack if not f.filename.startswith("<") and f.filename != importlib.__file__]
    shown.stack = traceback.StackSummary.from_list(own)
    if not isinstance(error, HandlerNotFound):
        print("".join(shown.format()), file=sys.stderr, end="")
    kind = type(error).__name__
    return json.dumps({
        "errorType": "Runtime." + kind if isinstance(error, HandlerNotFound) else kind,
        "errorMessage": str(error),
        "stackTrace": shown.stack.format(),
    })


def load(name):
    file, _, function = name.rpartition(".")
    sys.path.insert(0, env["LAMBDA_TASK_ROOT"])
    if not os.path.exists(os.path.join(env["LAMBDA_TASK_ROOT"], file.replace(".", "/") + ".py")):
        raise HandlerNotFound(f"there is no {file}.py")
    module = importlib.import_module(file.replace("/", "."))
    if callable(getattr(module, function, None)):
        return getattr(module, function)
    own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
    raise HandlerNotFound(f"{file}.py has no function {function}: it has {', '.join(own) or 'none'}")


class Context:
    client_context = identity = None

    def __init__(self, headers):
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.invoked_function_arn = headers["Lambda-Runtime-Invoked-Function-Arn"]
        self.function_name = env["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = env["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = env["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = env["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.deadline = int(headers["Lambda-Runtime-Deadline-Ms"])

    def get_remaining_time_in_millis(self):
        return max(0, self.deadline - int(time.time() * 1000))


logging.basicConfig(format="[%(levelname)s]\t%(message)s", level=env.get("AWS_LAMBDA_LOG_LEVEL", "WARNING"))
try:
    handler = load(sys.argv[1])
except Exception as error:
    call("POST", "init/error", failure(error))
    sys.exit(1)
while True:
    headers, event = call("GET", "invocation/next")
    env["_X_AMZN_TRACE_ID"] = headers["Lambda-Runtime-Trace-Id"]
    try:
        answer, body = "response", json.dumps(handler(json.loads(event), Context(headers)))
    except Exception as error:
        answer, body = "error", failure(error)
    call("POST", f"invocation/{headers['Lambda-Runtime-Aws-Request-Id']}/{answer}", body)
