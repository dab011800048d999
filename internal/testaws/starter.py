"""Starts motos with functions that run outside them. For each line "PORT HOST LIFE" that it reads, it copies itself;
to read moto's code again for each would take two seconds of a processor.

A copy listens at PORT of this machine; a world makes copies of itself too (world.go: World.Copy). An invocation is a POST to HOST/invoke/<function>. What it prints goes to a
connection to the port LIFE, and it ends with that. The changes to moto are the places where it differs from AWS in
what Slipway's state machine needs; with the argument "deploy" also those of what a deployment needs.
"""
import copy
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.request

from moto.stepfunctions.models import StateMachine
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sfn import StateTaskServiceSfn
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)
from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackOutcomeTimedOut, HeartbeatTimedOut

import fast


def invoke(parameters, region, state_credentials):
    """AWS's Invoke: the payload, and whether the function failed."""
    name = parameters["FunctionName"].split(":function:")[-1].split(":")[0]
    payload = parameters.get("Payload") or b"{}"
    if isinstance(payload, str):
        payload = payload.encode()
    request = urllib.request.Request(f"{mend.HOST}/invoke/{name}", data=payload, method="POST")
    with urllib.request.urlopen(request, timeout=900) as answer:
        out = {"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": json.loads(answer.read() or b"null")}
        failed = answer.headers.get("X-Amz-Function-Error")
    if failed:
        out["FunctionError"] = failed
    return out


lambda_eval_utils._invoke_lambda_function = invoke


def start_execution(self, env, resource_runtime_part, normalised_parameters, state_credentials):
    """The integration's names begin with a capital letter, the API's don't; moto sends the former to the latter."""
    client = fast.client(resource_runtime_part.region, "stepfunctions")
    parameters = {k[0].lower() + k[1:]: v for k, v in normalised_parameters.items()}
    if not isinstance(parameters.get("input", ""), str):
        parameters["input"] = json.dumps(parameters["input"])
    answer = client.start_execution(**parameters)
    answer.pop("ResponseMetadata", None)
    env.stack.append({k[0].upper() + k[1:]: v for k, v in answer.items()})


StateTaskServiceSfn._eval_service_task = start_execution



def without_runs(self, memo):
    """A run gets a copy of its machine; moto copies all of the machine's runs with it, which fails while one is under way."""
    clone = copy.copy(self)
    clone.executions = []
    return clone


StateMachine.__deepcopy__ = without_runs



def wait_for_task_token(self, env, timeout_seconds, callback_endpoint, heartbeat_endpoint):
    """A token may be answered while its function is still running, and a wait with heartbeats ends by its time-out
    too. moto misses the answer and the time-out until the next heartbeat is due.
    """
    end = time.monotonic() + timeout_seconds
    while env.is_running():
        outcome = callback_endpoint.get_outcome()
        if outcome is not None:
            return outcome
        left = end - time.monotonic()
        if left <= 0:
            return CallbackOutcomeTimedOut(callback_id=callback_endpoint.callback_id)
        if heartbeat_endpoint is None:
            callback_endpoint.wait(timeout=left)
            continue
        heard = heartbeat_endpoint._next_heartbeat_event
        silence = min(left, heartbeat_endpoint._heartbeat_seconds)
        if heard.wait(timeout=silence):
            heard.clear()
        elif silence < left and callback_endpoint.get_outcome() is None and env.is_running():
            return HeartbeatTimedOut()
    return CallbackOutcomeTimedOut(callback_id=callback_endpoint.callback_id)


StateTaskServiceCallback._eval_wait_for_task_token = wait_for_task_token

import mend
import world
from moto.server import main

if "deploy" in sys.argv:
    import mend_cfn  # noqa: F401
    import mend_ecr  # noqa: F401
    import mend_elb  # noqa: F401
    import mend_lambda  # noqa: F401
    import mend_scaling  # noqa: F401
    import mend_ssm  # noqa: F401
    import world_asg  # noqa: F401
    import world_ecs  # noqa: F401

    world.warm(["ecs", "elbv2", "awslambda", "applicationautoscaling", "autoscaling", "cloudformation", "ec2", "s3", "sts", "iam"])
    world.network(None)  # with 1,200 images, which takes a fifth of a second


with open(os.path.join(os.path.dirname(__file__), "node.asl.json")) as definition:
    fast.read(definition.read())  # what most copies run
world.warm(["stepfunctions", "s3", "kms"])


def end_with(life):
    """Ends this copy with the connection, whatever else it does."""
    life.recv(1)
    os._exit(0)


def begin():
    """Makes of this copy an account that begins now."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    world.CLOCK.begin()  # or each would let all happen that was due since moto was read
    for begin in world.BEGINNINGS:
        begin()


def serve(port, host, life):
    connection = socket.create_connection(("127.0.0.1", int(life)))
    for stream in (1, 2):
        os.dup2(connection.fileno(), stream)
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    os.environ["MOTO_PORT"] = port
    mend.HOST = host
    LIVES.append(connection)
    main(["-H", "127.0.0.1", "-p", port])


LIVES = []  # the connection of this copy, and before it those of what it was copied from


def copy_world(wanted):
    """Makes a copy of this world as it is, which begins where this one is."""
    if os.fork() == 0:
        world.LOCK.release()  # whoever asked has it
        for connection in LIVES:
            connection.close()  # or the end of this world would wait for that of the copy
        LIVES.clear()
        serve(wanted["port"], mend.HOST, wanted["life"])
        os._exit(0)


world.ADDRESSES["/world/copy"] = copy_world


signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the copies
gc.collect()
gc.freeze()  # what was read stays, and is nothing to look through again in each copy
gc.set_threshold(50_000, 20, 100)  # nor is what a test makes, which is little, again and again
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    if os.fork() == 0:
        begin()
        serve(*line.split())
        os._exit(0)
