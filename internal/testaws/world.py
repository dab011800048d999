"""What every moto here has besides: requests are checked, counted, and go wrong where a test wants it; time that runs
faster than that of the tests. Its own addresses begin with /world/ (world.go).
"""
import base64
import datetime
import functools
import json
import socket
import threading
import time
import warnings

from botocore.model import OperationNotFoundError
from botocore.validate import ParamValidator
from moto.core import responses
from moto.core.exceptions import ServiceException
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import determine_request_protocol, normalize_request
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import get_service_model
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

LOCK = threading.RLock()  # of everything here and of the services that have states
STATEFUL = {"ecs", "elbv2", "awslambda", "application-autoscaling", "autoscaling", "cloudformation"}


class Clock:
    """The time of the account: a second of it takes 10 ms. What happens by itself there (tasks start, deployments end)
    happens when somebody looks, as far as the time has come.
    """

    SPEED = 100

    def __init__(self):
        self.begin()

    def begin(self):
        self.begun = datetime.datetime.now(tz=datetime.timezone.utc)
        self.since = time.monotonic()
        self.before = 0.0  # what had passed at since
        self.held = False
        self.seen = 0  # the second until which all has happened that was due
        self.looks = 0  # how often somebody looked, and may have changed something

    def now(self):
        """Seconds since the beginning."""
        with LOCK:
            return self.before + (0 if self.held else (time.monotonic() - self.since) * self.SPEED)

    def set(self, held, advance):
        with LOCK:
            self.before = self.now() + advance
            self.since = time.monotonic()
            self.held = held

    def date(self, seconds):
        return self.begun + datetime.timedelta(seconds=seconds)


CLOCK = Clock()
STEPS = []  # what lets happen what is due at a second
BEGINNINGS = []  # what an account begins with


def fate(image):
    """What becomes of an image or another code, by the first word of its name or tag: "registry/web:crash-2" crashes."""
    name, _, tag = image.split("@")[0].rsplit("/", 1)[-1].partition(":")
    for word in (tag, name):
        kind = word.split("-")[0].split(".")[0]
        if kind in ("crash", "sick", "slow", "noroom", "exit"):
            number = word.split("-")[1:2]
            return f"{kind} {number[0]}" if kind in ("exit", "noroom") and number and number[0].isdigit() else kind
    return ""


# Requests. moto takes members that the API doesn't have, values of other types and requests without what is required;
# AWS's own clients refuse them by the models that moto has at hand.


def members(shape, value):
    """The members of a JSON value by their names in the model rather than those of the wire; unknown ones stay."""
    if shape.type_name == "structure" and isinstance(value, dict) and not getattr(shape, "is_document_type", False):
        names = {member.serialization.get("name", name): name for name, member in shape.members.items()}
        found = {}
        for wire, item in value.items():
            name = names.get(wire, wire)
            if item is not None:
                found[name] = members(shape.members[name], item) if name in shape.members else item
        return found
    if shape.type_name == "list" and isinstance(value, list):
        return [members(shape.member, item) for item in value]
    if shape.type_name == "map" and isinstance(value, dict):
        return {key: members(shape.value, item) for key, item in value.items()}
    if shape.type_name == "blob" and isinstance(value, str):
        return base64.b64decode(value)
    return value


def parameters(response, request, operation):
    """The parameters of a request, and whether the model can tell if they are right."""
    shape = operation.input_shape
    if shape is None:
        return {}, False
    normal = normalize_request(request)
    protocol = determine_request_protocol(operation.service_model, normal.content_type)
    parser = PROTOCOL_PARSERS[protocol](operation)
    parts = {
        "method": normal.method,
        "values": normal.values,
        "headers": normal.headers,
        "body": normal.data,
        "url_path": normal.path,
        "url_params": response.uri_match.groupdict() if response.uri_match else {},
    }
    if protocol == "json":
        return members(shape, json.loads(normal.data or b"{}")), True
    if protocol == "rest-json":
        found = {}
        parser._parse_non_payload_attrs(parts, shape, shape.members, found)
        payload = shape.serialization.get("payload")
        if payload is None:
            found.update(members(shape, json.loads(normal.data or b"{}")))
        elif shape.members[payload].type_name == "structure" and normal.data:
            found[payload] = members(shape.members[payload], json.loads(normal.data))
        elif normal.data:
            found[payload] = normal.data
        return found, True
    return parser.parse(parts), protocol in ("query", "ec2")


class Wrong(ServiceException):
    """An error that a test wants; the code is the API's, whichever service that is."""


class Refused(Wrong):
    """A request that the API's model doesn't allow."""

    code = "ValidationException"


def checked(response, request, operation):
    """The parameters of a request; Refused names what the model doesn't allow."""
    try:
        found, complete = parameters(response, request, operation)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise Refused(f"{operation.name} can't be read: {e}") from e
    if complete:
        report = ParamValidator().validate(found, operation.input_shape)
        if report.has_errors():
            raise Refused(f"{operation.name}: {report.generate_report()}")
    return found


# Calls and faults.

CALLS = []
FAULTS = []
PREFIXES = {"monitoring": "cloudwatch"}  # where policies name a service otherwise than signatures do
STATUS = {"AccessDenied": 403, "AccessDeniedException": 403, "TooManyRequestsException": 429, "SlowDown": 503}


def reduced(value):
    """A value as JSON: of bytes their number."""
    if isinstance(value, dict):
        return {key: reduced(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reduced(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)) or hasattr(value, "read"):
        return None
    return value


def fault_of(name):
    """The fault that this call has, if any."""
    for fault in FAULTS:
        if fault["operation"] != name:
            continue
        fault["seen"] = fault.get("seen", 0) + 1
        if fault["seen"] > fault["after"] and fault["times"] != 0:
            fault["times"] -= 1
            return fault
    return None


warnings.filterwarnings("ignore", message=r".*does not match an error shape.*")  # a fault may have any code


def failed(response, error, status=None):
    """The answer of an error, as the protocol has it."""
    code, headers, body = response.serialized(ActionResult(error))
    headers["status"] = str(status or code)
    return status or code, headers, body


def code_of(answer):
    """The code of an answer's error; empty for none."""
    status, headers, body = answer
    if int(headers.get("status", status)) < 400:
        return ""
    lower = {key.lower(): value for key, value in headers.items()}
    if kind := lower.get("x-amzn-errortype"):
        return kind.split("#")[-1]
    text = body.decode() if isinstance(body, bytes) else body or ""
    if "<Code>" in text:
        return text.split("<Code>")[1].split("</Code>")[0]
    try:
        return json.loads(text).get("__type", "").split("#")[-1] or str(status)
    except ValueError:
        return str(status)


def cut(request):
    """Ends the connection of a request; whatever is answered is lost."""
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)


setup_class = BaseResponse.setup_class


def operation_of(response):
    try:
        return get_service_model(response.boto3_service_name).operation_model(response._get_action())
    except (OperationNotFoundError, KeyError, TypeError):
        return None


def dispatch(self, request, full_url, headers):
    parses, self.automated_parameter_parsing = self.automated_parameter_parsing, False
    self.setup_class(request, full_url, headers)
    self.automated_parameter_parsing = parses
    operation = operation_of(self) if self.service_name else None
    if operation is None:
        if parses and self._get_action():
            self.parse_parameters(request)
        return self.call_action()
    prefix = operation.service_model.signing_name
    call = {"operation": f"{PREFIXES.get(prefix, prefix)}:{operation.name}", "parameters": {}, "code": ""}
    with LOCK:
        fault = fault_of(call["operation"])
    if fault and fault["cut"] == "before":
        call["code"] = "cut"
        CALLS.append(call)
        cut(request)
        return 500, {}, ""
    try:
        found = checked(self, request, operation)
        call["parameters"] = reduced(found)
        if fault and not fault["cut"]:
            status = STATUS.get(fault["code"]) or (500 if fault["code"].startswith("Internal") else None)
            answer = failed(self, Wrong(fault["code"], fault["message"]), status)
        else:
            answer = act(self, request, parses)
    except Refused as e:
        answer = failed(self, e)
    call["code"] = "cut" if fault and fault["cut"] else code_of(answer)
    CALLS.append(call)  # only now: who waits for a call waits for what it does
    if fault and fault["cut"]:
        if fault["cut"] == "stall":
            request.environ["werkzeug.socket"].recv(1)  # until the caller has gone
        cut(request)
    return answer


def catch_up():
    """Lets all that was due happen, a second of AWS after the other."""
    CLOCK.looks += 1
    for second in range(CLOCK.seen + 1, int(CLOCK.now()) + 1):
        CLOCK.seen = second
        for step in STEPS:
            step(second)


def act(response, request, parses):
    if parses:
        response.parse_parameters(request)
    if response.service_name in STATEFUL:
        with LOCK:
            catch_up()
            return response.call_action()
    return response.call_action()


BaseResponse._dispatch = dispatch


# What a test asks for.


def calls(_):
    return CALLS


def add_fault(fault):
    FAULTS.append(fault)


def set_clock(wanted):
    CLOCK.set(wanted["held"], wanted["advance"])


def add_role(name):
    from moto.iam.models import iam_backends

    return iam_backends["123456789012"]["aws"].create_role(name, "{}", "/", None, "", [], "3600").arn


def network(_):
    from moto.ec2 import ec2_backends

    backend = ec2_backends["123456789012"]["eu-west-1"]
    vpc = backend.get_default_vpc()
    subnets = [subnet.id for subnet in backend.describe_subnets(filters={"vpcId": vpc.id})]
    return {"vpc": vpc.id, "subnets": sorted(subnets), "group": backend.get_default_security_group(vpc.id).id}


DOWNLOADS = {}  # what answers addresses that begin so with a status and bytes
ADDRESSES = {"/world/calls": calls, "/world/fault": add_fault, "/world/clock": set_clock, "/world/role": add_role, "/world/network": network}
call_moto = DomainDispatcherApplication.__call__


def serve(self, environ, start_response):
    path = environ.get("PATH_INFO", "")
    for beginning, download in DOWNLOADS.items():
        if path.startswith(beginning):
            status, content = download(environ)
            start_response(status, [("Content-Length", str(len(content)))])
            return [content]
    handle = ADDRESSES.get(path)
    if handle is None:
        return call_moto(self, environ, start_response)
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    with LOCK:
        answer = json.dumps(handle(json.loads(body or b"null"))).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


DomainDispatcherApplication.__call__ = serve


def warm(services):
    """Reads what the first requests of some services would have to read, before copies are made."""
    import moto.server

    moto.server.create_backend_app = functools.cache(moto.server.create_backend_app)
    for service in services:
        moto.server.create_backend_app(service)
        name = responses.boto3_service_name.get(service, service)
        name = {"applicationautoscaling": "application-autoscaling"}.get(name, name)
        model = get_service_model(name)
        if model.protocol.startswith("rest"):
            responses._get_method_urls(service, "eu-west-1")
        for operation in model.operation_names:
            if operation.startswith(("Create", "Describe", "Update")) and service != "ec2":
                _ = model.operation_model(operation).input_shape
