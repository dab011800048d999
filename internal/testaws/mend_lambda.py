"""Mends moto's Lambda where it differs from what AWS documents and a deployment of functions would notice: states and
updates that take their time, revisions, versions that don't change, aliases with weights, code that is there.
"""
import base64
import copy
import hashlib
import json
import uuid
from urllib.parse import unquote

import moto.awslambda.models
from moto.awslambda.models import LambdaFunction, LambdaStorage
from moto.awslambda.responses import LambdaResponse
from moto.awslambda_simple.models import lambda_simple_backends
from moto.core.responses import ActionResult
from moto.s3.models import s3_backends

import world
from world import CLOCK, Wrong, fate

# Stacks make functions where Lambda's API finds them: moto has one Lambda for each.
moto.awslambda.models.lambda_backends = lambda_simple_backends

CREATES, UPDATES, SLOW = 6, 3, 60  # seconds of AWS
BROKEN = {"Image": "InvalidImage", "Zip": "InvalidZipFileException"}

# What UpdateFunctionConfiguration takes and moto doesn't keep.
KEPT = ("DeadLetterConfig", "FileSystemConfigs", "KMSKeyArn", "LoggingConfig", "SnapStart")


def broken(kind, message):
    return Wrong("InvalidParameterValueException" if kind == "value" else kind, message)


# States. A function is Pending after it was made and InProgress after each change, during which it takes no other.
# moto's are Active and Successful at once. A new revision comes with each change; taken for so: also with the end of
# each, as the harder case for whoever keeps revisions.


class Change:
    """What a function is going through, or went through last."""

    def __init__(self, fn, creating):
        code = fn.code.get("ImageUri") or fn.code.get("S3Key") or ""
        self.creating = creating
        self.fate = fate(code)
        seconds = CREATES if creating else UPDATES
        self.until = CLOCK.now() + (SLOW if self.fate == "slow" else seconds)
        self.revisions = str(uuid.uuid4()), str(uuid.uuid4())

    @property
    def over(self):
        return CLOCK.now() >= self.until


LambdaFunction.change = None
LambdaFunction.more = None


def begin(fn, creating=False):
    fn.change = Change(fn, creating)


def status(fn):
    """The members of a configuration that say how far a function is."""
    change = fn.change
    if change is None:  # made by a stack
        return {"State": "Active", "LastUpdateStatus": "Successful", "RevisionId": str(uuid.UUID(int=id(fn)))}
    out = {"RevisionId": change.revisions[change.over], "State": "Active"}
    text, reason = "The function is being created.", "Creating"
    if change.over and change.fate == "crash":
        text, reason = "The code can't be used.", BROKEN[fn.package_type]
    if change.creating:
        out["State"] = "Pending" if not change.over else "Failed" if change.fate == "crash" else "Active"
        if out["State"] != "Active":
            return {**out, "StateReason": text, "StateReasonCode": reason}
        return {**out, "LastUpdateStatus": "Successful"}
    out["LastUpdateStatus"] = "InProgress" if not change.over else "Failed" if change.fate == "crash" else "Successful"
    if out["LastUpdateStatus"] != "Successful":
        out.update(LastUpdateStatusReason=text, LastUpdateStatusReasonCode=reason)
    return out


get_configuration = LambdaFunction.get_configuration


def configuration(fn, on_create=False):
    """A function's configuration; what isn't set is left out, as on the wire."""
    out = get_configuration(fn, on_create)
    out.pop("LastUpdateStatus", None)
    out.update(fn.more or {})
    if fn.environment_vars:
        out["Environment"] = {"Variables": fn.environment_vars}
    out.setdefault("LoggingConfig", {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{fn.function_name}"})
    if fn.package_type == "Image":
        out.pop("Runtime"), out.pop("Handler")
    out["ConfigSha256"] = fingerprint(fn, out)
    out.update(status(fn))
    return {key: value for key, value in out.items() if value is not None}


def fingerprint(fn, configured):
    """What two versions without a difference have in common."""
    unlike = ("Version", "FunctionArn", "LastModified", "State", "Description", "CodeSha256", "CodeSize")
    same = {key: value for key, value in configured.items() if key not in unlike}
    return base64.b64encode(hashlib.sha256(json.dumps(same, sort_keys=True).encode()).digest()).decode()


LambdaFunction.get_configuration = configuration


def check_free(fn):
    """A function that is being made or changed takes no other change (ResourceConflictException)."""
    if fn.change is not None and not fn.change.over:
        what = (
            "The function is currently in the following state: Pending"
            if fn.change.creating
            else f"An update is in progress for resource: {fn.function_arn}"
        )
        raise Wrong("ResourceConflictException", f"The operation cannot be performed at this time. {what}")


def check_revision(wanted, revision, kind):
    if wanted is not None and wanted != revision:
        raise Wrong(
            "PreconditionFailedException",
            f"The Revision Id provided does not match the latest Revision Id. Call the {kind} API to retrieve the latest Revision Id",
        )


# Code. It has to be there, in the function's region, and be what the function's package type is. GetFunction tells
# where it can be downloaded; moto gives an address that nobody answers.

DOWNLOADS = {}  # code by the token in its address


def check_code(response, package_type, code, updates):
    image, archive = code.get("ImageUri"), code.get("ZipFile") or code.get("S3Bucket")
    if package_type == "Zip" and image:
        verb = "updating" if updates else "creating"
        raise broken("value", f"Please do not provide ImageUri when {verb} a function with packageType Zip.")
    if package_type == "Image" and not image:
        raise broken("value", "Please provide ImageUri when updating a function with packageType Image.")
    if not image and not archive:
        raise broken("value", "Please provide a source for function code.")
    if not code.get("S3Bucket"):
        return
    backend = s3_backends[response.current_account]["aws"]
    bucket = backend.buckets.get(code["S3Bucket"])
    if bucket is None:
        error = "NoSuchBucket. S3 Error Message: The specified bucket does not exist"
    elif bucket.region_name != response.region:
        error = (
            f"PermanentRedirect. S3 Error Message: The bucket is in this region: {bucket.region_name}. "
            "Please use this region to retry the request"
        )
    elif backend.get_object(code["S3Bucket"], code["S3Key"], version_id=code.get("S3ObjectVersion")) is None:
        error = "NoSuchKey. S3 Error Message: The specified key does not exist."
    else:
        return
    raise broken("value", f"Error occurred while GetObject. S3 Error Code: {error}")


set_code = LambdaFunction._set_function_code


def set_function_code(fn, spec):
    """moto forgets the version of an object."""
    set_code(fn, spec)
    if spec.get("S3ObjectVersion") and not spec.get("DryRun"):
        key = s3_backends[fn.account_id]["aws"].get_object(spec["S3Bucket"], spec["S3Key"], version_id=spec["S3ObjectVersion"])
        fn.code_bytes, fn.code_size = key.value, len(key.value)
        fn.code_sha_256 = base64.b64encode(hashlib.sha256(key.value).digest()).decode()
    if image := spec.get("ImageUri"):
        fn.code_sha_256 = digest_of(image)


LambdaFunction._set_function_code = set_function_code


def digest_of(image):
    return image.split("@sha256:")[1] if "@sha256:" in image else hashlib.sha256(image.encode()).hexdigest()


def location(response, fn):
    if fn.package_type == "Image":
        image = fn.code["ImageUri"]
        repository = image.split("@")[0]
        if ":" in repository.rsplit("/", 1)[-1]:
            repository = repository.rsplit(":", 1)[0]
        return {"RepositoryType": "ECR", "ImageUri": image, "ResolvedImageUri": f"{repository}@sha256:{fn.code_sha_256}"}
    token = uuid.uuid4().hex
    DOWNLOADS[token] = fn.code_bytes
    return {"RepositoryType": "S3", "Location": f"http://{response.headers['host']}/world/code/{token}?X-Amz-Expires=600"}


def download(environ):
    """The code of an address; S3 refuses a second signature."""
    code = DOWNLOADS.get(environ["PATH_INFO"].rsplit("/", 1)[-1])
    if environ.get("HTTP_AUTHORIZATION"):
        return "400 Bad Request", b"Only one auth mechanism allowed"
    return ("200 OK", code) if code is not None else ("403 Forbidden", b"AccessDenied")


world.DOWNLOADS["/world/code/"] = download


# The operations.


def named(response, place):
    """The name of a function in a path, from a name, a part of an ARN or an ARN; and its qualifier."""
    text = unquote(response.path.rstrip("/").split("/")[place])
    parts = text.split(":function:")[-1].split(":")
    return parts[0], parts[1] if len(parts) > 1 else response._get_param("Qualifier", None)


def latest(response, place):
    return response.backend.get_function(named(response, place)[0], None)


def create_function(self):
    spec = self.json_body
    spec["FunctionName"] = spec["FunctionName"].split(":function:")[-1]
    kind = spec.get("PackageType", "Zip")
    check_code(self, kind, spec["Code"], False)
    if kind == "Zip" and not (spec.get("Runtime") and spec.get("Handler")):
        raise broken("value", "Runtime and Handler are mandatory parameters for functions created with deployment packages.")
    if kind == "Image" and (spec.get("Runtime") or spec.get("Handler") or spec.get("Layers")):
        raise broken("value", "Please don't provide Handler or Runtime or Layer when the intended function PackageType is Image.")
    if spec["FunctionName"] in self.backend._lambdas._functions:
        raise Wrong("ResourceConflictException", f"Function already exist: {spec['FunctionName']}")
    publish = spec.pop("Publish", False)
    fn = self.backend.create_function(spec)
    fn.more = {key: spec[key] for key in KEPT if key in spec}
    begin(fn, creating=True)
    made = publish_version(self.backend._lambdas, fn.function_name) if publish else fn
    return ActionResult(made.get_configuration())


def update_function_code(self):
    fn, wanted = latest(self, -2), self.json_body
    check_free(fn)
    check_revision(wanted.get("RevisionId"), status(fn)["RevisionId"], "GetFunction")
    check_code(self, fn.package_type, wanted, True)
    if wanted.get("DryRun"):
        return ActionResult(fn.get_configuration())
    fn.code = copy.deepcopy(fn.code)
    for key in ("ZipFile", "S3Bucket", "S3Key", "S3ObjectVersion"):
        fn.code.pop(key, None)
    fn.update_function_code({key: value for key, value in wanted.items() if key not in ("RevisionId", "Publish")})
    if wanted.get("Architectures"):
        fn.architectures = wanted["Architectures"]
    touch(fn)
    made = publish_version(self.backend._lambdas, fn.function_name) if wanted.get("Publish") else fn
    return ActionResult(made.get_configuration())


def update_function_configuration(self):
    fn, wanted = latest(self, -2), self.json_body
    check_free(fn)
    check_revision(wanted.get("RevisionId"), status(fn)["RevisionId"], "GetFunction")
    if "Environment" in wanted:
        wanted["Environment"].setdefault("Variables", {})
    fn.update_configuration(wanted)
    fn.more = {**(fn.more or {}), **{key: wanted[key] for key in KEPT if key in wanted}}
    if "EphemeralStorage" in wanted:
        fn.ephemeral_storage = wanted["EphemeralStorage"]["Size"]
    if "TracingConfig" in wanted:
        fn.tracing_config = wanted["TracingConfig"]
    if "ImageConfig" in wanted:
        fn.image_config = type(fn.image_config)(wanted["ImageConfig"])
    touch(fn)
    return ActionResult(fn.get_configuration())


def touch(fn):
    fn.last_modified = CLOCK.date(CLOCK.now()).strftime("%Y-%m-%dT%H:%M:%S.000+0000")
    begin(fn)


def get_function(self):
    name, qualifier = named(self, -1)
    fn = found(self, name, qualifier)
    out = {"Configuration": answered(fn, qualifier), "Code": location(self, fn)}
    if fn.tags:
        out["Tags"] = fn.tags
    return ActionResult(out)


def get_function_configuration(self):
    name, qualifier = named(self, -2)
    return ActionResult(answered(found(self, name, qualifier), qualifier))


def found(response, name, qualifier):
    return response.backend.get_function(name, qualifier)


def answered(fn, qualifier):
    out = fn.get_configuration()
    if qualifier == "$LATEST":
        out["FunctionArn"] += ":$LATEST"
    elif qualifier and qualifier != out["Version"]:  # an alias
        out["FunctionArn"] = out["FunctionArn"].rsplit(":", 1)[0] + ":" + qualifier
    return out


# Versions. They never change, nor is a number used twice. Publishing without a change since the last version gives
# that one again. moto's share their code with $LATEST, and it counts the versions that are left.


def publish_version(storage, name, description=None):
    group = storage._functions[name]
    fn = group["latest"]
    configured = fn.get_configuration()
    mark = configured["CodeSha256"], configured["ConfigSha256"], configured["Description"]
    if group["versions"] and group["versions"][-1].mark == mark:
        return group["versions"][-1]
    version = copy.copy(fn)
    for key in ("code", "environment_vars", "tags", "layers", "_vpc_config", "tracing_config", "more"):
        setattr(version, key, copy.deepcopy(getattr(fn, key)))
    group["number"] = group.get("number", len(group["versions"])) + 1
    version.set_version(group["number"])
    version.mark = mark
    if description is not None:
        version.description = description
    if fn.change is None or fn.change.over:
        version.change = Change(version, creating=True)
        version.change.until = CLOCK.now()
    group["versions"].append(version)
    storage._arns[version.function_arn] = version
    return version


def respond_publish(self):
    fn, wanted = latest(self, -2), self.json_body if self.body else {}
    check_free(fn)
    check_revision(wanted.get("RevisionId"), status(fn)["RevisionId"], "GetFunction")
    sha = wanted.get("CodeSha256")
    if sha and sha != fn.code_sha_256:
        raise broken(
            "value",
            f"CodeSHA256 ({sha}) is different from current CodeSHA256 in $LATEST ({fn.code_sha_256}). "
            "Please try again with the CodeSHA256 in $LATEST.",
        )
    return ActionResult(publish_version(self.backend._lambdas, fn.function_name, wanted.get("Description")).get_configuration())


def page(response, member, items):
    """At most MaxItems of a list, from where Marker says; 50 unless told."""
    first = int(response._get_param("Marker") or 0)
    last = first + min(int(response._get_param("MaxItems") or 50), 50)
    out = {member: items[first:last]}
    if last < len(items):
        out["NextMarker"] = str(last)
    return ActionResult(out)


def list_versions_by_function(self):
    fn = latest(self, -2)
    versions = self.backend.list_versions_by_function(fn.function_name)
    return page(self, "Versions", [version.get_configuration() for version in versions])


def delete_function(self):
    name, qualifier = named(self, -1)
    fn = found(self, name, qualifier)
    if qualifier == "$LATEST":
        raise broken("value", "$LATEST version cannot be deleted without deleting the function.")
    if qualifier:
        naming = [
            alias.name
            for alias in self.backend.list_aliases(name)
            if qualifier == alias.function_version or qualifier in weights(alias.routing_config)
        ]
        if naming:
            raise Wrong("ResourceConflictException", f"Version {qualifier} can't be deleted: aliases {naming} reference it")
        fn = self.backend._lambdas._functions[name]
        fn["versions"] = [version for version in fn["versions"] if str(version.version) != qualifier]
    else:
        self.backend.delete_function(name)
    return 204, {"status": 204}, ""


# Aliases. The name of one that exists is a conflict, revisions are checked, and weights follow the rules of "Implement
# Lambda canary deployments using a weighted alias": another published version, with the same role and dead letters.


def weights(routing):
    return (routing or {}).get("AdditionalVersionWeights") or {}


def check_routing(response, name, version, routing):
    main = found(response, name, version)
    others = weights(routing)
    if not others:
        return
    if len(others) > 1:
        raise broken("value", "Number of items in AdditionalVersionWeights cannot be greater than 1")
    if version == "$LATEST" or "$LATEST" in others:
        raise broken("value", "$LATEST is not supported for an alias pointing to more than 1 version")
    for other, weight in others.items():
        if not 0 <= weight <= 1:
            raise Wrong(
                "ValidationException",
                f"1 validation error detected: Value '{{{other}={weight}}}' at 'routingConfig.additionalVersionWeights' failed to "
                "satisfy constraint: Map value must satisfy constraint: [Member must have value less than or equal to 1.0]",
            )
        if other == version:
            raise broken("value", f"Invalid function version {other}. Function version {other} is already included in routing configuration.")
        second = found(response, name, other)
        if second.role != main.role:
            raise broken("value", f"Versions {version} and {other} must have the same execution role")
        if (second.more or {}).get("DeadLetterConfig") != (main.more or {}).get("DeadLetterConfig"):
            raise broken("value", f"Versions {version} and {other} must have the same dead letter queue configuration")


def create_alias(self):
    fn, wanted = latest(self, -2), self.json_body
    aliases = self.backend._lambdas._get_function_aliases(fn.function_name)
    if wanted["Name"] in aliases:
        raise Wrong("ResourceConflictException", f"Alias already exists: {fn.function_arn}:{wanted['Name']}")
    check_routing(self, fn.function_name, wanted["FunctionVersion"], wanted.get("RoutingConfig"))
    alias = self.backend.create_alias(
        name=wanted["Name"],
        function_name=fn.function_name,
        function_version=wanted["FunctionVersion"],
        description=wanted.get("Description", ""),
        routing_config=wanted.get("RoutingConfig"),
    )
    return alias_answer(alias)


def alias_of(response):
    name, _ = named(response, -3)
    return name, response.backend.get_alias(unquote(response.path.rsplit("/", 1)[-1]), name)


def alias_answer(alias):
    out = alias.to_json()
    if not weights(alias.routing_config):
        out.pop("RoutingConfig")
    return ActionResult(out)


def get_alias(self):
    return alias_answer(alias_of(self)[1])


def update_alias(self):
    name, alias = alias_of(self)
    wanted = self.json_body
    check_revision(wanted.get("RevisionId"), alias.revision_id, "GetAlias")
    version = wanted.get("FunctionVersion", alias.function_version)
    routing = wanted.get("RoutingConfig", alias.routing_config)
    check_routing(self, name, version, routing)
    alias.update(wanted.get("Description"), version, routing)
    alias.revision_id = str(uuid.uuid4())
    return alias_answer(alias)


def delete_alias(self):
    name, _ = named(self, -3)
    aliases = self.backend._lambdas._get_function_aliases(name)
    aliases.pop(unquote(self.path.rsplit("/", 1)[-1]), None)
    return 204, {"status": 204}, ""


def list_aliases(self):
    fn = latest(self, -2)
    version = self._get_param("FunctionVersion")
    aliases = [alias for alias in self.backend.list_aliases(fn.function_name) if version in (None, alias.function_version)]
    return page(self, "Aliases", [alias_answer(alias).result for alias in aliases])


def tag_resource(self):
    moto_tag_resource(self)
    return 204, {"status": 204}, ""


moto_tag_resource = LambdaResponse.tag_resource

for respond in (
    create_function,
    update_function_code,
    update_function_configuration,
    get_function,
    get_function_configuration,
    list_versions_by_function,
    delete_function,
    create_alias,
    get_alias,
    update_alias,
    delete_alias,
    list_aliases,
    tag_resource,
):
    setattr(LambdaResponse, respond.__name__, respond)
LambdaResponse.publish_version = respond_publish
LambdaStorage.publish_version = publish_version
