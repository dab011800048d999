"""Lets moto do once what it does again and again with the same outcome: hundreds of runs at once are then bound by
what they run, not by moto. Nothing here changes what a run does.
"""
import functools
import json
import logging
import threading

from moto.core import responses, serialize
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_sfn
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import boto_client, json_path
from moto.stepfunctions.parser.backend import execution_worker
from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication

# moto looks for the service of each request in its own folder and in 200 patterns, and logs each request: half of what
# a request takes.
DomainDispatcherApplication.get_backend_for_host = functools.cache(DomainDispatcherApplication.get_backend_for_host)
logging.getLogger("werkzeug").setLevel(logging.WARNING)

# A path takes 15 ms to parse, and a task has some ten. Parsed ones don't change.
json_path.parse = functools.cache(json_path.parse)
result_path.parse = functools.cache(result_path.parse)


# The operations of a service, looked for among a thousand members of its class for every request.
responses.method_names_from_class = functools.cache(responses.method_names_from_class)


KEYS = {}
possible_keys = serialize.XFormedAttributePicker.get_possible_keys


def keys(picker, context):
    """The names that a member of an answer may have in moto's objects, which moto makes anew for every member of every
    answer. They follow from the model and the object's class.
    """
    place = type(context.obj), context.key, context.shape
    if place not in KEYS:
        KEYS[place] = list(dict.fromkeys(possible_keys(picker, context)))
    return KEYS[place]


serialize.XFormedAttributePicker.get_possible_keys = keys


class Parser:
    """A definition takes 20 ms to parse, for every run. Parsed ones don't change: the iterations of a Map share them."""

    parse = staticmethod(functools.cache(AmazonStateLanguageParser.parse))


execution_worker.AmazonStateLanguageParser = Parser


def read(definition):
    """Parses a definition and its paths ahead of all runs: the first time takes ten times as long as the next, and a
    copy of this process knows what it has parsed.
    """
    Parser.parse(definition)

    def paths(of):
        if isinstance(of, str) and (of == "$" or of.startswith(("$.", "$["))):
            json_path.parse(of)
        for value in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
            paths(value)

    paths(json.loads(definition))


@functools.cache
def client(region, service):
    return boto_client.boto_client_for(region=region, service=service)


def client_for(region, service, state_credentials=None):
    """moto makes a client, and a connection, for every call."""
    return client(region, service)


state_task_service_sfn.boto_client_for = client_for


class Ends:
    """The ends of nested runs, which moto asks for again and again."""

    lock = threading.Lock()
    over = {}  # by the run's ARN

    @classmethod
    def of(cls, arn):
        with cls.lock:
            return cls.over.setdefault(arn, threading.Event())


terminated = BaseExecutionWorkerCommunication.terminated


def end(self):
    terminated(self)
    Ends.of(self.execution.exec_arn).set()


BaseExecutionWorkerCommunication.terminated = end


def wait_for_end(env, arn, resolve):
    """Asks for a nested run's outcome when that is over, or whoever waits for it is."""
    ended = Ends.of(arn)

    def resolve_at_end():
        while env.is_running() and not ended.wait(0.25):
            pass
        return resolve()

    return resolve_at_end
