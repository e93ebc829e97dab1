import os


def handler(event, context):
    if "fail" in event:
        raise TypeError(event["fail"])
    if "nothing" in event:
        return None
    return {
        "event": event,
        "root": os.environ["LAMBDA_TASK_ROOT"] == os.getcwd(),
        "name": context.function_name,
        "left": context.get_remaining_time_in_millis(),
    }
