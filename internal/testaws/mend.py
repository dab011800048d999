"""Mends moto's Step Functions where it differs from what AWS documents and Slipway's state machine would notice.

README.md lists the differences, mended or not, and which of AWS's ways are documented and which are taken for so.
"""
import json
import sys
import threading
import time
import urllib.request
import uuid

import fast
from moto.core.exceptions import AWSError
from moto.stepfunctions import responses
from moto.stepfunctions.parser import api
from moto.stepfunctions.parser import models as parser_models
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import ErrorEqualsDecl
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import inline_iteration_component
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sfn import StateTaskServiceSfn
from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackConsumerTimeout
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager
from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped
from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication, Execution
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

HOST = None  # the URL of whoever runs the functions and takes the events
Backend = parser_models.StepFunctionsParserBackend
ANSWERS = threading.Lock()
STARTS = threading.Lock()
MAX_OUTPUT = 262144
INLINE_ITERATIONS = 40


# An error tells its name; moto answers UnknownError for most of those of Step Functions.

for error in vars(api).values():
    if isinstance(error, type) and issubclass(error, AWSError) and error is not AWSError and error.TYPE is None:
        error.TYPE = error.__name__


# Tokens. SendTaskSuccess and SendTaskFailure of a token whose task has ended give TaskTimedOut (their API references).
# moto accepts them while the run lasts, and the second answer may replace the first. It says InvalidToken after the
# run, and fails on runs that have just begun.


WAITS = {}  # by their tokens


def wait_of(token):
    """The wait of a token, whether its run is under way or not."""
    endpoint = WAITS.get(token)
    if endpoint is None:
        raise api.InvalidToken()
    return endpoint


def check_open(endpoint):
    """An attempt that timed out has ended before its thread hears of it."""
    attempt_ended = hasattr(endpoint, "frame") and not endpoint.frame.is_running()
    if attempt_ended or endpoint.consumer_error is not None or endpoint.get_outcome() is not None:
        raise api.TaskTimedOut("Task Timed Out: 'Provided task does not exist anymore'")


def answer(token, outcome):
    endpoint = wait_of(token)
    with ANSWERS:
        check_open(endpoint)
        endpoint.notify(outcome)


def send_task_success(self, task_token, outcome):
    """The output has to be JSON and at most 256 KiB (InvalidOutput); moto fails the run over it."""
    try:
        json.loads(outcome)
    except ValueError as e:
        raise api.InvalidOutput(f"Invalid Output: '{e}'")
    if len(outcome.encode()) > MAX_OUTPUT:
        raise api.InvalidOutput("Invalid Output: 'the output exceeds the maximum size'")
    answer(task_token, parser_models.CallbackOutcomeSuccess(callback_id=task_token, output=outcome))


def send_task_failure(self, task_token, error=None, cause=None):
    answer(task_token, parser_models.CallbackOutcomeFailure(callback_id=task_token, error=error, cause=cause))


def send_task_heartbeat(self, task_token):
    """A task without HeartbeatSeconds takes heartbeats too; moto says InvalidToken."""
    endpoint = wait_of(task_token)
    with ANSWERS:
        check_open(endpoint)
        endpoint.notify_heartbeat()


Backend.send_task_success = send_task_success
Backend.send_task_failure = send_task_failure
Backend.send_task_heartbeat = send_task_heartbeat


def respond_task_failure(self):
    """moto forgets the cause."""
    self.stepfunction_backend.send_task_failure(
        self._get_param("taskToken"), error=self._get_param("error"), cause=self._get_param("cause")
    )
    return responses.EmptyResult()


responses.StepFunctionResponse.send_task_failure = respond_task_failure


def close(endpoint):
    with ANSWERS:
        endpoint.report(CallbackConsumerTimeout())
    endpoint.interrupt_all()


def attempt(self, env):
    """Each attempt of a task has a token of its own, which ends with it: known of waits that time out, taken for so of
    all retries, as the harder case for whoever keeps tokens. moto gives a retry the token of the attempt that failed,
    with its wait interrupted.
    """
    if self.resource.condition != ResourceCondition.WaitForTaskToken:
        return StateTaskService._eval_execution(self, env)
    token = env.states.context_object.update_task_token()
    endpoint = env.callback_pool_manager.add(token)
    endpoint.frame = env
    WAITS[token] = endpoint
    try:
        StateTaskService._eval_execution(self, env)
    finally:
        close(endpoint)


StateTaskServiceCallback._eval_execution = attempt


# StopExecution. The run is ABORTED at once, with the error and the cause, whatever it waits for, and no state is
# entered after it. moto lets a task or the pause before a retry end first, which may take a year, lets a catcher turn
# the stop into a failure, and forgets error and cause.


def stop_execution(self, execution_arn, error=None, cause=None):
    execution = self.describe_execution(execution_arn)
    with STARTS:
        if execution.status != "RUNNING":
            return execution
        execution.error, execution.cause = error, cause
        execution.stop_date = parser_models.datetime.datetime.now(tz=parser_models.datetime.timezone.utc)
        execution.exec_status = api.ExecutionStatus.ABORTED
    execution.stop(stop_date=execution.stop_date, error=error, cause=cause)
    return execution


Backend.stop_execution = stop_execution


def respond_stop(self):
    execution = self.stepfunction_backend.stop_execution(
        self._get_param("executionArn"), error=self._get_param("error"), cause=self._get_param("cause")
    )
    return responses.ActionResult({"stopDate": execution.stop_date})


responses.StepFunctionResponse.stop_execution = respond_stop


def stop_worker(self, stop_date, error, cause):
    while self.env is None or self.env._program_state is None:  # it has only just begun
        time.sleep(0.01)
    self.env.set_stop(stop_date=stop_date, cause=cause, error=error)
    for endpoint in list(self.env.callback_pool_manager._pool.values()):
        close(endpoint)


ExecutionWorker.stop = stop_worker

set_error = Environment.set_error


def set_error_while_running(self, error):
    with self._state_mutex:
        if not isinstance(self._program_state, ProgramStopped):
            set_error(self, error)


Environment.set_error = set_error_while_running


class Pause:
    """The time module for the pause before a retry, which ends with its run."""

    stopped = threading.local()

    @staticmethod
    def sleep(seconds):
        env = Pause.stopped.env
        end = time.monotonic() + seconds
        while env.is_running() and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))


retry = retrier_decl.RetrierDecl._eval_body


def retry_while_running(self, env):
    Pause.stopped.env = env
    retry(self, env)


retrier_decl.RetrierDecl._eval_body = retry_while_running
retrier_decl.time = Pause


# Once a state is left, its retriers begin anew (Amazon States Language, Retrying after error). moto goes on counting
# attempts, and lengthening pauses, through all of a run's stays in a state.

eval_state = ExecutionState._eval_state


def begin_retries_anew(self, env):
    for key in [k for k in env.heap if k.startswith(("MaxAttemptsDecl-", "BackoffRateDecl-"))]:
        del env.heap[key]
    eval_state(self, env)


ExecutionState._eval_state = begin_retries_anew

add_event = EventManager.add_event


def add_event_until_stopped(self, context, event_type, *args, **kwargs):
    """The last event of a run that was stopped is ExecutionAborted; moto also writes how its tasks fail of it."""
    if getattr(self, "over", False) and event_type != api.HistoryEventType.ExecutionAborted:
        return 0
    return add_event(self, context, event_type, *args, **kwargs)


EventManager.add_event = add_event_until_stopped

set_stop = Environment.set_stop


def set_stop_and_silence(self, stop_date, cause, error):
    self.event_manager.over = True
    set_stop(self, stop_date=stop_date, cause=cause, error=error)


Environment.set_stop = set_stop_and_silence

eval_sync = StateTaskServiceCallback._eval_sync
sync2_resolver = StateTaskServiceSfn._build_sync2_resolver


def remember_child(self, env, resource_runtime_part, normalised_parameters, state_credentials):
    arn = env.stack[-1]["ExecutionArn"]
    resolve = sync2_resolver(self, env, resource_runtime_part, normalised_parameters, state_credentials)
    wait = fast.wait_for_end(env, arn, resolve)
    wait.child = arn, resource_runtime_part.region
    return wait


def stop_child_with_parent(self, env, sync_resolver, **kwargs):
    """Step Functions tries to stop the run that an aborted .sync task has started (developer guide, integration
    patterns): here when the parent is stopped. moto lets the child go on.
    """
    outcome = eval_sync(self, env=env, sync_resolver=sync_resolver, **kwargs)
    if not env.is_running() and hasattr(sync_resolver, "child"):
        arn, region = sync_resolver.child
        fast.client(region, "stepfunctions").stop_execution(executionArn=arn)
    return outcome


StateTaskServiceSfn._build_sync2_resolver = remember_child
StateTaskServiceCallback._eval_sync = stop_child_with_parent


# StartExecution is idempotent by name and input while the run lasts. moto starts two runs when two requests come at
# the same time, and fails when it looks at a run that is just starting.

start_execution = Backend.start_execution


def start_one(self, *args, **kwargs):
    with STARTS:
        return start_execution(self, *args, **kwargs)


Backend.start_execution = start_one
Execution.status = property(lambda self: (self.exec_status or api.ExecutionStatus.RUNNING).value)


# Nothing catches or retries States.Runtime, whatever it names: it always ends the run (developer guide, error handling;
# seen to be so where it is named, too). moto takes it for any other error. The guide says the same of
# States.DataLimitExceeded, but that of a task's result is seen to be caught by States.ALL and by its name, as moto has it.

equals = ErrorEqualsDecl._eval_body


def equals_but_terminal(self, env):
    name = env.stack[-1].error_name
    equals(self, env)
    if name == "States.Runtime":
        env.stack[-1] = False


ErrorEqualsDecl._eval_body = equals_but_terminal


# An inline Map runs 40 iterations at once at most (developer guide, Map in inline mode); moto's has no limit.

iterate = inline_iteration_component.InlineIterationComponent._eval_body


def iterate_within_limit(self, env):
    items = env.stack[-1]
    wanted = items.max_concurrency or INLINE_ITERATIONS
    items.max_concurrency = max(1, min(wanted, INLINE_ITERATIONS, len(items.input_items)))
    iterate(self, env)


inline_iteration_component.InlineIterationComponent._eval_body = iterate_within_limit


# "Step Functions Execution Status Change": EventBridge gets an event of every status; moto sends none.


def tell_status(execution):
    milliseconds = lambda at: int(at.timestamp() * 1000) if at else None  # noqa: E731
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Step Functions Execution Status Change",
        "source": "aws.states",
        "account": execution.account_id,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "region": execution.region_name,
        "resources": [execution.exec_arn],
        "detail": {
            "executionArn": execution.exec_arn,
            "stateMachineArn": execution.state_machine_arn,
            "name": execution.name,
            "status": execution.status,
            "startDate": milliseconds(execution.start_date),
            "stopDate": milliseconds(execution.stop_date),
            "input": execution.execution_input,
            "output": json.dumps(execution.output) if execution.status == "SUCCEEDED" else None,
            "error": execution.error,
            "cause": execution.cause,
            "inputDetails": {"included": True},
        },
    }
    request = urllib.request.Request(f"{HOST}/events", data=json.dumps(event).encode(), method="POST")
    try:
        urllib.request.urlopen(request, timeout=60).close()
    except OSError as e:
        print(f"an event of {execution.name} wasn't taken: {e}", file=sys.stderr)


start_run = Execution.start
reflect = BaseExecutionWorkerCommunication.terminated


def start_and_tell(self):
    start_run(self)
    threading.Thread(target=tell_status, args=(self,), daemon=True).start()


def end_and_tell(self):
    reflect(self)
    tell_status(self.execution)


Execution.start = start_and_tell
BaseExecutionWorkerCommunication.terminated = end_and_tell


# GetExecutionHistory gives 100 events at once unless asked for another number; moto gives all, in one order.


def respond_history(self):
    history = self.stepfunction_backend.get_execution_history(self._get_param("executionArn"))
    events = list(history["events"])
    if self._get_param("reverseOrder"):
        events.reverse()
    begin = int(self._get_param("nextToken") or 0)
    end = begin + (self._get_param("maxResults") or 100)
    page = {"events": events[begin:end]}
    if end < len(events):
        page["nextToken"] = str(end)
    return responses.ActionResult(page)


responses.StepFunctionResponse.get_execution_history = respond_history
