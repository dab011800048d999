"""Mends moto's CloudFormation where it differs from what AWS documents and a deployment of stacks would notice:
operations that take their time, with an event of each resource and the caller's token; failures that roll back.

What becomes of a resource is told by its name in the template: "Crash..." can't be made, "CrashOnUpdate..." can't be
changed, "Slow..." takes a minute, "Sticky..." can't be deleted, and a change set says that "Renamed..." is replaced.
"""
import copy
import json

import yaml
from moto.cloudformation import models
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Event, Stack, generate_changeset_id, generate_stack_id
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

import world
from world import CLOCK, Wrong

TAKES, SLOW, CLEANS, CHANGE_SET = 3, 60, 2, 2  # seconds of AWS
MAX_BODY = 51200
IAM = ("AccessKey", "Group", "InstanceProfile", "ManagedPolicy", "Policy", "Role", "User", "UserToGroupAddition")
NAMES = ("GroupName", "InstanceProfileName", "ManagedPolicyName", "RoleName", "UserName")
UPDATABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE")
KEPT_OUTPUTS = (*UPDATABLE, "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS")


def invalid(message):
    return Wrong("ValidationError", message)


# Operations: each is a generator that waits the seconds that it yields.

OPERATIONS = {}  # by the stack's ID: the generator, when it goes on, and the stack
Stack.token = None  # of the operation that is under way, or was last
Stack.created_with = None
Stack.states = None  # of the resources by name; None for stacks that moto makes


def begin(stack, operation, token):
    stack.token = token
    OPERATIONS[stack.stack_id] = [operation, CLOCK.seen, stack]
    go_on(stack.stack_id)


def go_on(key):
    operation = OPERATIONS[key]
    while operation[1] <= CLOCK.seen:
        try:
            operation[1] += next(operation[0])
        except StopIteration:
            ended(key, operation)
            return
        except Exception as e:  # noqa: BLE001 - whatever moto says of a stack
            ended(key, operation)
            stack = operation[2]
            say(stack, stack.status.replace("_IN_PROGRESS", "_FAILED"), str(e))
            return


def ended(key, operation):
    if OPERATIONS.get(key) is operation:
        del OPERATIONS[key]


def step(_):
    for key in list(OPERATIONS):
        go_on(key)


world.STEPS.append(step)


def say(stack, status, reason=None):
    stack.status, stack.stack_status_reason = status, reason
    tell(stack, stack.name, stack.stack_id, "AWS::CloudFormation::Stack", status, reason)


def tell(stack, name, physical, kind, status, reason=None):
    event = Event(stack.stack_id, stack.name, name, physical, kind, status, reason, None)
    event.timestamp, event.client_request_token = now(), stack.token
    stack.events.append(event)


def now():
    return CLOCK.date(CLOCK.seen).replace(tzinfo=None)


def tell_resource(stack, name, status, reason=None, kind=None):
    before = stack.states.get(name, {})
    kind = kind or before.get("kind") or stack.resource_map._resource_json_map[name]["Type"]
    made = stack.resource_map._parsed_resources.get(name)
    physical = getattr(made, "physical_resource_id", None) or before.get("physical") or ""
    stack.states[name] = {"kind": kind, "physical": physical, "status": status, "reason": reason, "at": now()}
    tell(stack, name, physical, kind, status, reason)


class Crash(Exception):
    pass


def make(stack, name):
    if name.startswith("Crash") and not name.startswith("CrashOnUpdate"):
        raise Crash(f"Resource handler returned message: \"{name} can't be made\" (HandlerErrorCode: GeneralServiceException)")
    return stack.resource_map[name]


def takes(names):
    return max([SLOW if name.startswith("Slow") else TAKES for name in names], default=TAKES)


def wanted_resources(stack):
    """The names of the resources whose conditions hold, in the order in which they are made."""
    resources = stack.resource_map
    names = resources._ResourceMap__get_resources_in_dependency_order()
    conditions = {name: resources._resource_json_map[name].get("Condition") for name in names}
    return [name for name in names if not conditions[name] or resources.lazy_condition_map[conditions[name]]]


def creating(stack, on_failure):
    stack.states = {}
    say(stack, "CREATE_IN_PROGRESS", "User Initiated")
    names = wanted_resources(stack)
    for name in names:
        tell_resource(stack, name, "CREATE_IN_PROGRESS")
    made = []
    for name in names:
        yield takes([name])
        try:
            make(stack, name)
        except Exception as e:  # noqa: BLE001 - whatever moto says of a resource
            tell_resource(stack, name, "CREATE_FAILED", str(e))
            for other in names[len(made) + 1 :]:
                tell_resource(stack, other, "CREATE_FAILED", "Resource creation cancelled")
            reason = f"The following resource(s) failed to create: [{', '.join(names[len(made) :])}]. "
            yield from undone(stack, on_failure, reason, made)
            return
        made.append(name)
        tell_resource(stack, name, "CREATE_COMPLETE")
    stack.resource_map.create(stack.template_dict)
    if problem := publish(stack):
        yield from undone(stack, on_failure, problem, made)
        return
    say(stack, "CREATE_COMPLETE")


def undone(stack, on_failure, reason, made):
    """What follows on a stack that couldn't be made."""
    if on_failure == "DO_NOTHING":
        say(stack, "CREATE_FAILED", reason)
        return
    if on_failure == "DELETE":
        yield from deleting(stack, reason)
        return
    say(stack, "ROLLBACK_IN_PROGRESS", reason + "Rollback requested by user.")
    yield TAKES
    stack.resource_map.delete()
    for name in reversed(made):
        tell_resource(stack, name, "DELETE_COMPLETE")
    say(stack, "ROLLBACK_COMPLETE")


def publish(stack):
    """Makes the outputs and exports of a stack known; tells what is wrong with them."""
    backend = models.cloudformation_backends[stack.account_id][stack.region_name]
    stack.output_map = stack._create_output_map()
    for export in stack.output_map.exports:
        known = backend.exports.get(export.name)
        if known is not None and known.exporting_stack_id != stack.stack_id:
            return f"Export with name {export.name} is already exported by another stack. "
    for export in stack.output_map.exports:
        backend.exports[export.name] = export
    return None


def difference(stack, wanted, parameters):
    """The names of the resources that are added, modified and removed. moto writes into the old template."""
    if stack.template:
        stack.resource_map._resource_json_map = Stack.parse_template(stack.template)["Resources"]
    return {key: list(names) for key, names in stack.resource_map.build_resource_diff(wanted, parameters).items()}


def updating(stack, template, parameters, tags, role_arn):
    old, old_parameters = stack.template, stack.parameters
    wanted = Stack.parse_template(template)
    diff = difference(stack, wanted, parameters)
    removed = {name: stack.resource_map._resource_json_map[name]["Type"] for name in diff["Remove"]}
    kinds = {name: resource["Type"] for name, resource in wanted["Resources"].items()}
    say(stack, "UPDATE_IN_PROGRESS", "User Initiated")
    for key, verb in (("Add", "CREATE"), ("Modify", "UPDATE")):
        for name in diff[key]:
            tell_resource(stack, name, f"{verb}_IN_PROGRESS", kind=kinds[name])
    yield takes(diff["Add"] + diff["Modify"])
    broken, why = next((name for name in diff["Add"] + diff["Modify"] if name.startswith("Crash")), None), None
    if broken in diff["Add"] and broken.startswith("CrashOnUpdate"):
        broken = None
    if broken:
        why = f"Resource handler returned message: \"{broken} can't be changed\" (HandlerErrorCode: GeneralServiceException)"
    else:
        try:
            stack.resource_map.update(wanted, parameters)
        except Exception as e:  # noqa: BLE001 - whatever moto says of a resource
            broken, why = (diff["Add"] + diff["Modify"])[0], str(e)
            stack.resource_map.update(Stack.parse_template(old), old_parameters)
    if broken:
        for key, verb in (("Add", "CREATE"), ("Modify", "UPDATE")):
            for name in sorted(diff[key], key=lambda name: name != broken):
                reason = why if name == broken else f"Resource {'creation' if verb == 'CREATE' else 'update'} cancelled"
                tell_resource(stack, name, f"{verb}_FAILED", reason)
        verb = "create" if broken in diff["Add"] else "update"
        yield from rolling_back(stack, f"The following resource(s) failed to {verb}: [{broken}]. ", diff["Add"])
        return
    for key, verb in (("Add", "CREATE"), ("Modify", "UPDATE")):
        for name in diff[key]:
            tell_resource(stack, name, f"{verb}_COMPLETE")
    stack.template, stack.parameters = template, parameters
    stack._parse_template()
    stack.description = stack.template_dict.get("Description")
    if tags is not None:
        stack.tags = tags
    stack.role_arn = role_arn or stack.role_arn
    publish(stack)
    say(stack, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
    yield CLEANS
    for name, kind in removed.items():
        tell_resource(stack, name, "DELETE_COMPLETE", kind=kind)
    say(stack, "UPDATE_COMPLETE")


def rolling_back(stack, reason, added=()):
    say(stack, "UPDATE_ROLLBACK_IN_PROGRESS", reason)
    yield TAKES
    say(stack, "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
    yield CLEANS
    for name in added:
        tell_resource(stack, name, "DELETE_COMPLETE")
    say(stack, "UPDATE_ROLLBACK_COMPLETE")


def deleting(stack, reason="User Initiated", retained=()):
    backend = models.cloudformation_backends[stack.account_id][stack.region_name]
    stack.states = stack.states if stack.states is not None else {}
    say(stack, "DELETE_IN_PROGRESS", reason)
    resources = stack.resource_map._resource_json_map
    for name in resources:
        if name in stack.resource_map._parsed_resources:
            tell_resource(stack, name, "DELETE_IN_PROGRESS")
    yield takes(resources)
    held = {name: resources.pop(name) for name in list(resources) if name.startswith("Sticky") or name in retained}
    stuck = [name for name in held if name not in retained and name in stack.resource_map._parsed_resources]
    why = "Resource handler returned message: \"it can't be deleted\" (HandlerErrorCode: GeneralServiceException)"
    try:
        stack.resource_map.delete()
    except Exception as e:  # noqa: BLE001 - whatever moto says of a resource
        stuck, why = [name for name in resources if name in stack.resource_map._parsed_resources], str(e)
    for name in list(resources):
        if name not in stuck and name in stack.states:
            tell_resource(stack, name, "DELETE_COMPLETE")
    resources.update(held)
    for name in stuck:
        tell_resource(stack, name, "DELETE_FAILED", why)
    if stuck:
        say(stack, "DELETE_FAILED", f"The following resource(s) failed to delete: [{', '.join(stuck)}]. ")
        return
    say(stack, "DELETE_COMPLETE")
    backend.stacks.pop(stack.stack_id, None)
    backend.deleted_stacks[stack.stack_id] = stack
    for id, change_set in list(backend.change_sets.items()):
        if change_set.stack is stack:
            del backend.change_sets[id]
    for name, export in list(backend.exports.items()):
        if export.exporting_stack_id == stack.stack_id:
            del backend.exports[name]


# What a stack shows. moto shows outputs before there are any, and makes resources to be able to, and it hides values
# that are those of a NoEcho parameter rather than the parameter.

moto_outputs = Stack.outputs.fget
Stack.outputs = property(lambda stack: moto_outputs(stack) if stack.states is None or stack.status in KEPT_OUTPUTS else None)


def parameter_list(stack):
    slots = stack.template_dict.get("Parameters") or {}
    shown = []
    for key, value in stack.resource_map.resolved_parameters.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        hidden = str((slots.get(key) or {}).get("NoEcho", False)).lower() == "true"
        shown.append({"ParameterKey": key, "ParameterValue": "****" if hidden else text})
    return shown


Stack.parameter_list = property(parameter_list)


# Templates.


def template_of(response, stack=None):
    wanted = response.params
    if stack is not None and wanted.get("UsePreviousTemplate"):
        return stack.template
    body = wanted.get("TemplateBody")
    if body is None and wanted.get("TemplateURL"):
        body = response._get_stack_from_s3_url(wanted["TemplateURL"])
        return body.decode() if isinstance(body, bytes) else body
    if body is None:
        raise invalid("Either Template URL or Template Body must be specified.")
    if len(body.encode()) > MAX_BODY:
        raise invalid(
            "1 validation error detected: Value at 'templateBody' failed to satisfy constraint: "
            f"Member must have length less than or equal to {MAX_BODY}"
        )
    return body


def parsed(body):
    try:
        template = Stack.parse_template(body)
    except (ValueError, yaml.YAMLError) as e:
        raise invalid(f"Template format error: {e}") from e
    if not isinstance(template, dict):
        raise invalid("Template format error: unsupported structure.")
    if not template.get("Resources"):
        raise invalid("Template format error: At least one Resources member must be defined.")
    return template


def capabilities_of(template):
    """What has to be acknowledged, and over which types of resources."""
    found, named = [], False
    for resource in template["Resources"].values():
        kind = resource.get("Type", "")
        if kind.startswith("AWS::IAM::") and kind.rsplit(":", 1)[-1] in IAM:
            found.append(kind)
            named = named or any(name in (resource.get("Properties") or {}) for name in NAMES)
    out = [] if not found else ["CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"]
    if template.get("Transform"):
        out.append("CAPABILITY_AUTO_EXPAND")
    return out, sorted(set(found))


def check_capabilities(template, given, expands):
    wanted, _ = capabilities_of(template)
    enough = {"CAPABILITY_IAM": ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM")}
    missing = [c for c in wanted if not set(enough.get(c, (c,))) & set(given) and (expands or c != "CAPABILITY_AUTO_EXPAND")]
    if missing:
        raise Wrong("InsufficientCapabilitiesException", f"Requires capabilities : [{', '.join(missing)}]")


def parameters_of(response, template, stack=None):
    """The values of a template's parameters, without those that have their defaults."""
    slots = template.get("Parameters") or {}
    found = {}
    for entry in response.params.get("Parameters") or []:
        key = entry["ParameterKey"]
        if entry.get("UsePreviousValue"):
            if entry.get("ParameterValue"):
                raise invalid(
                    f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true and non empty value for a parameter"
                )
            if stack is not None and key in stack.parameters:
                found[key] = stack.parameters[key]
        else:
            found[key] = entry.get("ParameterValue", "")
    if unknown := [key for key in found if key not in slots]:
        raise invalid(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    if missing := [key for key, slot in slots.items() if key not in found and "Default" not in slot]:
        raise invalid(f"Parameters: [{', '.join(missing)}] must have values")
    return found


def summary(template):
    kinds = [resource.get("Type") for resource in template["Resources"].values()]
    capabilities, reasons = capabilities_of(template)
    transforms = template.get("Transform") or []
    out = {
        "Description": template.get("Description"),
        "Version": template.get("AWSTemplateFormatVersion"),
        "ResourceTypes": sorted(set(kinds)),
        "Capabilities": capabilities,
        "DeclaredTransforms": [transforms] if isinstance(transforms, str) else transforms,
        "Metadata": json.dumps(template["Metadata"]) if template.get("Metadata") else None,
        "Parameters": [
            {
                "ParameterKey": key,
                "ParameterType": slot.get("Type", "String"),
                "NoEcho": str(slot.get("NoEcho", False)).lower() == "true",
                "Description": slot.get("Description"),
                "DefaultValue": None if slot.get("Default") is None else str(slot["Default"]),
                "ParameterConstraints": {"AllowedValues": [str(v) for v in slot["AllowedValues"]]} if "AllowedValues" in slot else {},
            }
            for key, slot in (template.get("Parameters") or {}).items()
        ],
    }
    if reasons:
        out["CapabilitiesReason"] = f"The following resource(s) require capabilities: [{', '.join(reasons)}]"
    return out


def get_template_summary(self):
    name = self.params.get("StackName")
    body = stack_named(self, name).template if name else template_of(self)
    return ActionResult(summary(parsed(body)))


def validate_template(self):
    """AWS doesn't lint. The parameters are the same as those of the summary, but for their constraints."""
    out = summary(parsed(template_of(self)))
    for parameter in out["Parameters"]:
        del parameter["ParameterConstraints"], parameter["ParameterType"]
    return ActionResult(out)


# Stacks.


def stack_named(response, name, verb="Stack with id {0} does not exist"):
    try:
        return response.cloudformation_backend.get_stack(name)
    except models.ValidationError as e:
        raise invalid(verb.format(name)) from e


def living(response, name):
    for stack in response.cloudformation_backend.stacks.values():
        if name in (stack.name, stack.stack_id):
            return stack
    return None


def tags_of(response):
    return {tag["Key"]: tag["Value"] for tag in response.params.get("Tags") or []}


def create_stack(self):
    wanted, backend = self.params, self.cloudformation_backend
    token = wanted.get("ClientRequestToken")
    old = living(self, wanted["StackName"])
    if old is not None:
        if token and old.created_with == token:
            return ActionResult({"StackId": old.stack_id})
        raise Wrong("AlreadyExistsException", f"Stack [{wanted['StackName']}] already exists")
    body = template_of(self)
    template = parsed(body)
    check_capabilities(template, wanted.get("Capabilities") or [], True)
    stack = Stack(
        stack_id=generate_stack_id(wanted["StackName"], self.region, self.current_account),
        name=wanted["StackName"],
        template=body,
        parameters=parameters_of(self, template),
        account_id=self.current_account,
        region_name=self.region,
        notification_arns=wanted.get("NotificationARNs"),
        tags=tags_of(self),
        role_arn=wanted.get("RoleARN"),
        cross_stack_resources=backend.exports,
        enable_termination_protection=wanted.get("EnableTerminationProtection"),
        timeout_in_mins=wanted.get("TimeoutInMinutes"),
        stack_policy_body=wanted.get("StackPolicyBody"),
    )
    stack.creation_time, stack.created_with = now(), token
    stack.capabilities = list(wanted.get("Capabilities") or [])
    backend.stacks[stack.stack_id] = stack
    begin(stack, creating(stack, "DO_NOTHING" if wanted.get("DisableRollback") else wanted.get("OnFailure", "ROLLBACK")), token)
    return ActionResult({"StackId": stack.stack_id})


def update_stack(self):
    wanted = self.params
    token = wanted.get("ClientRequestToken")
    stack = living(self, wanted["StackName"])
    if stack is None:
        raise invalid(f"Stack [{wanted['StackName']}] does not exist")
    if token and stack.token == token:
        return ActionResult({"StackId": stack.stack_id})
    if stack.status not in UPDATABLE:
        raise invalid(f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")
    body = template_of(self, stack)
    template = parsed(body)
    check_capabilities(template, wanted.get("Capabilities") or [], True)
    parameters = parameters_of(self, template, stack)
    tags = tags_of(self) if "Tags" in wanted else None
    if not changes(stack, template, parameters, tags):
        raise invalid("No updates are to be performed.")
    stack.last_updated_time = now()
    stack.capabilities = list(wanted.get("Capabilities") or [])
    begin(stack, updating(stack, body, parameters, tags, wanted.get("RoleARN")), token)
    return ActionResult({"StackId": stack.stack_id})


def changes(stack, template, parameters, tags):
    return Stack.parse_template(stack.template) != template or stack.parameters != parameters or tags not in (None, stack.tags)


def delete_stack(self):
    wanted = self.params
    stack = living(self, wanted["StackName"])
    if stack is None or stack.status == "DELETE_IN_PROGRESS":
        return EmptyResult()
    if stack.enable_termination_protection:
        raise invalid(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
    if stack.status in ("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"):
        raise invalid(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
    begin(stack, deleting(stack, retained=wanted.get("RetainResources") or ()), wanted.get("ClientRequestToken"))
    return EmptyResult()


def cancel_update_stack(self):
    wanted = self.params
    stack = stack_named(self, wanted["StackName"])
    if stack.status != "UPDATE_IN_PROGRESS":
        raise invalid(f"CancelUpdateStack cannot be called from current stack status {stack.status}")
    begin(stack, rolling_back(stack, "User Initiated"), wanted.get("ClientRequestToken") or stack.token)
    return EmptyResult()


def update_termination_protection(self):
    stack = stack_named(self, self.params["StackName"])
    stack.enable_termination_protection = self.params["EnableTerminationProtection"]
    return ActionResult({"StackId": stack.stack_id})


def page(parameters, member, items, size=100):
    first = int(parameters.get("NextToken") or 0)
    out = {member: items[first : first + size]}
    if first + size < len(items):
        out["NextToken"] = str(first + size)
    return ActionResult(out)


def describe_stack_events(self):
    return page(self.params, "StackEvents", stack_named(self, self.params["StackName"], "Stack [{0}] does not exist").events[::-1])


moto_describe_resources = CloudFormationResponse.describe_stack_resources
moto_describe_resource = CloudFormationResponse.describe_stack_resource
moto_list_resources = CloudFormationResponse.list_stack_resources


def resource(stack, name, time):
    state = stack.states[name]
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "LogicalResourceId": name,
        "PhysicalResourceId": state["physical"] or None,
        "ResourceType": state["kind"],
        "ResourceStatus": state["status"],
        "ResourceStatusReason": state["reason"],
        time: state["at"],
    }


def describe_stack_resources(self):
    stack = stack_named(self, self.params["StackName"])
    if stack.states is None:
        return moto_describe_resources(self)
    only = self.params.get("LogicalResourceId")
    return ActionResult({"StackResources": [resource(stack, name, "Timestamp") for name in stack.states if only in (None, name)]})


def describe_stack_resource(self):
    stack, name = stack_named(self, self.params["StackName"]), self.params["LogicalResourceId"]
    if stack.states is None:
        return moto_describe_resource(self)
    if name not in stack.states:
        raise invalid(f"Resource {name} does not exist for stack {stack.name}")
    return ActionResult({"StackResourceDetail": resource(stack, name, "LastUpdatedTimestamp")})


def list_stack_resources(self):
    stack = stack_named(self, self.params["StackName"])
    if stack.states is None:
        return moto_list_resources(self)
    found = [resource(stack, name, "LastUpdatedTimestamp") for name, state in stack.states.items() if state["status"] != "DELETE_COMPLETE"]
    return page(self.params, "StackResourceSummaries", found)


# Change sets, which belong to a stack. moto finds them by their names alone, and forgets the outputs of what they make.


def create_change_set(self):
    wanted, backend = self.params, self.cloudformation_backend
    creates = wanted.get("ChangeSetType", "UPDATE") == "CREATE"
    stack = living(self, wanted["StackName"])
    if creates and stack is not None and stack.status != "REVIEW_IN_PROGRESS":
        raise invalid(f"Stack [{stack.name}] already exists and cannot be created again with the changeSet [{wanted['ChangeSetName']}].")
    if not creates and stack is None:
        raise invalid(f"Stack [{wanted['StackName']}] does not exist")
    body = template_of(self, stack)
    template = parsed(body)
    check_capabilities(template, wanted.get("Capabilities") or [], False)
    parameters = parameters_of(self, template, stack if not creates else None)
    if stack is None:
        stack = Stack(
            stack_id=generate_stack_id(wanted["StackName"], self.region, self.current_account),
            name=wanted["StackName"],
            template={},
            parameters={},
            account_id=self.current_account,
            region_name=self.region,
            notification_arns=wanted.get("NotificationARNs"),
            tags=tags_of(self),
            role_arn=wanted.get("RoleARN"),
            cross_stack_resources=backend.exports,
        )
        stack.states, stack.creation_time = {}, now()
        backend.stacks[stack.stack_id] = stack
        say(stack, "REVIEW_IN_PROGRESS", "User Initiated")
    if any(c.change_set_name == wanted["ChangeSetName"] and c.stack is stack for c in backend.change_sets.values()):
        raise Wrong("AlreadyExistsException", f"ChangeSet {wanted['ChangeSetName']} already exists")
    made = ChangeSet(
        change_set_type="CREATE" if creates else "UPDATE",
        change_set_id=generate_changeset_id(wanted["ChangeSetName"], self.region, self.current_account),
        change_set_name=wanted["ChangeSetName"],
        stack=stack,
        template=body,
        parameters=parameters,
        description=wanted.get("Description"),
        notification_arns=wanted.get("NotificationARNs"),
        tags=tags_of(self) if "Tags" in wanted else None,
        role_arn=wanted.get("RoleARN"),
    )
    diff = difference(stack, template, parameters)
    old = stack.resource_map._resource_json_map
    made.changes = [
        change(action, name, (template["Resources"].get(name) or old.get(name))["Type"]) for action, names in diff.items() for name in names
    ]
    made.ready = CLOCK.seen + CHANGE_SET
    made.capabilities = list(wanted.get("Capabilities") or [])
    made.failed = not creates and not changes(stack, template, parameters, made.tags)
    made.executed = None
    backend.change_sets[made.change_set_id] = made
    return ActionResult({"Id": made.change_set_id, "StackId": stack.stack_id})


def change(action, name, kind):
    made = models.Change(action, name, kind)
    if action == "Modify":
        made.replacement, made.scope = str(name.startswith("Renamed")), ["Properties"]
    return made


def change_set_of(response):
    name, stack = response.params["ChangeSetName"], response.params.get("StackName")
    for found in response.cloudformation_backend.change_sets.values():
        if name == found.change_set_id or name == found.change_set_name and stack in (found.stack_name, found.stack_id):
            found.status, found.status_reason = "CREATE_COMPLETE", None
            found.execution_status = found.executed or "AVAILABLE"
            if CLOCK.seen < found.ready:
                found.status, found.execution_status = "CREATE_IN_PROGRESS", "UNAVAILABLE"
            elif found.failed:
                found.status, found.execution_status = "FAILED", "UNAVAILABLE"
                found.status_reason = (
                    "The submitted information didn't contain changes. Submit different information to create a change set."
                )
            if found.executed == "EXECUTE_IN_PROGRESS" and found.stack_id not in OPERATIONS:
                found.executed = found.execution_status = "EXECUTE_COMPLETE"
            return found
    raise Wrong("ChangeSetNotFound", f"ChangeSet [{name}] does not exist")


def describe_change_set(self):
    return ActionResult(change_set_of(self))


def list_change_sets(self):
    stack = stack_named(self, self.params["StackName"])
    return ActionResult({"Summaries": [c for c in self.cloudformation_backend.change_sets.values() if c.stack is stack]})


def delete_change_set(self):
    try:
        found = change_set_of(self)
    except Wrong:
        return EmptyResult()
    del self.cloudformation_backend.change_sets[found.change_set_id]
    return EmptyResult()


def execute_change_set(self):
    found = change_set_of(self)
    stack, token = found.stack, self.params.get("ClientRequestToken")
    if found.execution_status != "AVAILABLE":
        raise Wrong("InvalidChangeSetStatus", f"ChangeSet [{found.change_set_id}] cannot be executed in its current status of [{found.status}]")
    found.executed = "EXECUTE_IN_PROGRESS"
    stack.capabilities = found.capabilities
    if found.change_set_type == "CREATE":
        stack.template, stack.parameters = found.template, found.parameters
        stack._parse_template()
        stack.resource_map = stack._create_resource_map()
        stack.output_map = stack._create_output_map()
        failure = "DO_NOTHING" if self.params.get("DisableRollback") else "ROLLBACK"
        begin(stack, creating(stack, failure), token)
    else:
        stack.last_updated_time = now()
        tags = copy.copy(found.tags)
        begin(stack, updating(stack, found.template, found.parameters, tags, found.role_arn), token)
    return EmptyResult()


for respond in (
    create_stack,
    update_stack,
    delete_stack,
    cancel_update_stack,
    update_termination_protection,
    describe_stack_events,
    describe_stack_resources,
    describe_stack_resource,
    list_stack_resources,
    get_template_summary,
    validate_template,
    create_change_set,
    describe_change_set,
    list_change_sets,
    delete_change_set,
    execute_change_set,
):
    setattr(CloudFormationResponse, respond.__name__, respond)
