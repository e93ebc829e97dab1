"""Starts MiniStack with what it lacks for this project."""

import decimal
import os
import uuid

# Numbers of 38 digits, as DynamoDB has them: Python's 28 would round the largest seqs' sums.
decimal.DefaultContext.prec = 38
decimal.setcontext(decimal.Context(prec=38))

if os.environ.get("USE_SSL"):  # a strict one
    from ministack.core import lambda_runtime
    from ministack.services import apigateway
    from ministack.services.cloudformation import provisioners

    # Alarms of metric math are taken.
    alarm = provisioners._cw_metric_alarm_record
    provisioners._cw_metric_alarm_record = lambda name, props: alarm(
        name, {"MetricName": "math", "Namespace": "math", **props, "Metrics": None}
    )

    # The keys of its user pools are fetched over TLS, as it answers nothing else.
    keys = apigateway._fetch_jwks
    apigateway._fetch_jwks = lambda url: keys(url.replace("http:", "https:", 1))

    # All that a function wrote before it answered is in its log. MiniStack looks for 50 ms, and
    # on a busy machine leaves the rest to the function's next call, which may not come. A line
    # that is put behind the function's own shows when they have been read.
    bounded = lambda_runtime.Worker._drain_stderr_bounded

    def drain(self, **bounds):
        mark, lines = uuid.uuid4().hex, []
        try:
            with open(f"/proc/{self._proc.pid}/fd/2", "w") as pipe:
                pipe.write("\n" + mark + "\n")  # the last of the function's lines may have no end
        except (AttributeError, OSError):  # it has ended, or this is no Linux
            return bounded(self, **bounds)
        while (line := self._stderr_queue.get()) != mark:
            lines.append(line)
        return "\n".join(lines).removesuffix("\n")

    lambda_runtime.Worker._drain_stderr_bounded = drain

from ministack.app import main

main()
