"""Starts moto with functions that run outside it: starter.py PORT HOST

An invocation is a POST to HOST/invoke/<function>. The changes to moto are the
places where it differs from AWS in what Slipway's state machine needs.
"""
import json
import sys
import urllib.request

port, host = sys.argv[1], sys.argv[2]

from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_callback


def invoke(parameters, region, state_credentials):
    """AWS's Invoke: the payload, and whether the function failed."""
    name = parameters["FunctionName"].split(":function:")[-1].split(":")[0]
    payload = parameters.get("Payload") or b"{}"
    if isinstance(payload, str):
        payload = payload.encode()
    request = urllib.request.Request(f"{host}/invoke/{name}", data=payload, method="POST")
    with urllib.request.urlopen(request, timeout=900) as answer:
        out = {"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": json.loads(answer.read() or b"null")}
        failed = answer.headers.get("X-Amz-Function-Error")
    if failed:
        out["FunctionError"] = failed
    return out


lambda_eval_utils._invoke_lambda_function = invoke

# AWS hears of a nested run's end by an event, within milliseconds; moto asks every half second.
state_task_service_callback._DELAY_SECONDS_SYNC_CONDITION_CHECK = 0.05

from moto.server import main

main(["-H", "127.0.0.1", "-p", port])
