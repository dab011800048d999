"""Mends moto's Application Auto Scaling where it differs from what AWS documents and a deployment would notice: targets
that are suspended and have tags, policies that belong to a target, and reads of exactly what was asked for.
"""
import json

from moto.applicationautoscaling import models
from moto.applicationautoscaling.models import ApplicationAutoscalingBackend, FakeScalableTarget
from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse, _build_alarms, _build_policy, _build_target
from moto.core.responses import ActionResult, EmptyResult

from world import Wrong

SUSPENDABLE = ("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended")


def key_of(thing):
    return thing.service_namespace, thing.resource_id, thing.scalable_dimension


def wanted_key(wanted):
    return wanted["ServiceNamespace"], wanted["ResourceId"], wanted["ScalableDimension"]


def target_of(backend, key):
    return backend.targets.get(key[2], {}).get(key[1])


def described(key):
    return f"service namespace: {key[0]}, resource ID: {key[1]}, scalable dimension: {key[2]}"


def register_scalable_target(self):
    """A new target needs its bounds; what isn't said of one that exists stays."""
    wanted, backend = json.loads(self.body), self.applicationautoscaling_backend
    self._validate_params()
    key = wanted_key(wanted)
    models._target_params_are_valid(*key)
    if key[0] == "ecs":
        check_service(backend, key)
    target = target_of(backend, key)
    low, high = wanted.get("MinCapacity"), wanted.get("MaxCapacity")
    if target is None and (low is None or high is None):
        raise Wrong("ValidationException", "MinCapacity and MaxCapacity are required for a new scalable target")
    low = low if low is not None else target.min_capacity
    high = high if high is not None else target.max_capacity
    if low > high:
        raise Wrong("ValidationException", "Maximum capacity cannot be less than minimum capacity")
    if target is None:
        target = FakeScalableTarget(backend, *key, low, high, wanted.get("RoleARN") or service_role(backend, key), None)
        target.tags = dict(wanted.get("Tags") or {})
        target.suspended_state = dict.fromkeys(SUSPENDABLE, False)
        backend._add_scalable_target(target)
    elif wanted.get("Tags"):
        raise Wrong("ValidationException", "Tags can only be set when a scalable target is registered for the first time; use TagResource")
    target.min_capacity, target.max_capacity = low, high
    if wanted.get("SuspendedState"):
        target.suspended_state = {key: wanted["SuspendedState"].get(key, False) for key in SUSPENDABLE}
    return ActionResult({"ScalableTargetARN": target.arn})


def check_service(backend, key):
    parts = key[1].split("/")
    service = backend.ecs_backend.services.get(":".join(parts[1:])) if len(parts) == 3 else None
    if service is None or service.status == "INACTIVE":
        raise Wrong("ValidationException", f"ECS service doesn't exist: {key[1]}")


def service_role(backend, key):
    name = {"ecs": "ECSService", "lambda": "LambdaConcurrency"}.get(key[0], "CustomResource")
    return (
        f"arn:aws:iam::{backend.account_id}:role/aws-service-role/{key[0]}.application-autoscaling.amazonaws.com/"
        f"AWSServiceRoleForApplicationAutoScaling_{name}"
    )


def deregister_scalable_target(self):
    """A target's policies and scheduled actions go with it."""
    backend, key = self.applicationautoscaling_backend, wanted_key(json.loads(self.body))
    if target_of(backend, key) is None:
        raise Wrong("ObjectNotFoundException", f"No scalable target found for {described(key)}")
    backend.deregister_scalable_target(*key)
    for name, policy in list(backend.policies.items()):
        if key_of(policy) == key:
            policy.delete_alarms(backend.account_id, backend.region_name)
            del backend.policies[name]
    backend.scheduled_actions = [action for action in backend.scheduled_actions if key_of(action) != key]
    return EmptyResult()


def page(self, member, items):
    wanted = json.loads(self.body)
    first = int(wanted.get("NextToken") or 0)
    last = first + min(wanted.get("MaxResults") or 50, 50)
    out = {member: items[first:last]}
    if last < len(items):
        out["NextToken"] = str(last)
    return ActionResult(out)


def matches(wanted, thing):
    return all(
        wanted.get(member) in (None, value)
        for member, value in zip(("ServiceNamespace", "ResourceId", "ScalableDimension"), key_of(thing))
    )


def describe_scalable_targets(self):
    wanted, backend = json.loads(self.body), self.applicationautoscaling_backend
    ids = wanted.get("ResourceIds")
    found = [
        _build_target(target)
        for targets in backend.targets.values()
        for target in targets.values()
        if matches(wanted, target) and (not ids or target.resource_id in ids)
    ]
    return page(self, "ScalableTargets", found)


def describe_scaling_policies(self):
    """moto shows the policies of services whose names are parts of the one that is asked for, and ignores names."""
    wanted = json.loads(self.body)
    names = wanted.get("PolicyNames")
    found = [
        _build_policy(policy)
        for policy in self.applicationautoscaling_backend.policies.values()
        if matches(wanted, policy) and (not names or policy.policy_name in names)
    ]
    return page(self, "ScalingPolicies", found)


def put_scaling_policy(self):
    wanted, backend = json.loads(self.body), self.applicationautoscaling_backend
    key = wanted_key(wanted)
    if target_of(backend, key) is None:
        raise Wrong("ObjectNotFoundException", f"No scalable target registered for {described(key)}")
    name = models.FakeApplicationAutoscalingPolicy.formulate_key(*key, wanted["PolicyName"])
    old = backend.policies.get(name)
    policy = backend.put_scaling_policy(
        policy_name=wanted["PolicyName"],
        service_namespace=key[0],
        resource_id=key[1],
        scalable_dimension=key[2],
        policy_type=wanted.get("PolicyType") or (old.policy_type if old else "StepScaling"),
        policy_body=wanted.get("StepScalingPolicyConfiguration") or wanted.get("TargetTrackingScalingPolicyConfiguration"),
    )
    if old is not None:
        old.delete_alarms(backend.account_id, backend.region_name)
        policy.policy_arn, policy.creation_time = old.policy_arn, old.creation_time
    return ActionResult({"PolicyARN": policy.policy_arn, "Alarms": _build_alarms(policy)})


def delete_scaling_policy(self):
    wanted, backend = json.loads(self.body), self.applicationautoscaling_backend
    key = wanted_key(wanted)
    if models.FakeApplicationAutoscalingPolicy.formulate_key(*key, wanted["PolicyName"]) not in backend.policies:
        raise Wrong("ObjectNotFoundException", f"No scaling policy found for {described(key)}, policy name: {wanted['PolicyName']}")
    backend.delete_scaling_policy(wanted["PolicyName"], *key)
    return EmptyResult()


# Tags, which moto doesn't have.


def tagged(self):
    wanted = json.loads(self.body)
    for targets in self.applicationautoscaling_backend.targets.values():
        for target in targets.values():
            if target.arn == wanted["ResourceARN"]:
                return target, wanted
    raise Wrong("ResourceNotFoundException", f"The specified resource doesn't exist: {wanted['ResourceARN']}")


def tag_resource(self):
    target, wanted = tagged(self)
    target.tags.update(wanted["Tags"])
    return EmptyResult()


def untag_resource(self):
    target, wanted = tagged(self)
    for name in wanted["TagKeys"]:
        target.tags.pop(name, None)
    return EmptyResult()


def list_tags_for_resource(self):
    return ActionResult({"Tags": tagged(self)[0].tags})


FakeScalableTarget.tags = {}  # of targets that a stack makes

for respond in (
    register_scalable_target,
    deregister_scalable_target,
    describe_scalable_targets,
    describe_scaling_policies,
    put_scaling_policy,
    delete_scaling_policy,
    tag_resource,
    untag_resource,
    list_tags_for_resource,
):
    setattr(ApplicationAutoScalingResponse, respond.__name__, respond)
