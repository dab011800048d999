"""Mends moto's load balancers where it differs from what AWS documents and a deployment would notice: targets that
become healthy and drain, the default rule, the limits of a forward action, and target groups that know who uses them.
"""
import functools

from moto.core.responses import BaseResponse
from moto.elbv2.models import ELBv2Backend, FakeAction, FakeHealthStatus, FakeTargetGroup
from moto.elbv2.responses import ELBV2Response

import world
from world import CLOCK, Wrong

CHECKS = 10  # seconds of AWS until a target passes its first health check
TARGET_GROUPS, WEIGHT = 5, 999


# Targets. A new one is initial and then healthy; one that was deregistered drains for the group's delay. A group that
# no listener forwards to checks nothing. moto's are healthy as soon as they are registered.

register, deregister = FakeTargetGroup.register, FakeTargetGroup.deregister


def register_since(group, targets):
    register(group, targets)
    for target in targets:
        group.since.setdefault(target["Id"], CLOCK.seen)
        group.drained.pop(target["Id"], None)


def deregister_since(group, targets):
    deregister(group, targets)
    for target in targets:
        group.since.pop(target["Id"], None)
        group.drained[target["Id"]] = CLOCK.seen + int(group.attributes["deregistration_delay.timeout_seconds"])


def state_of(group, target):
    """A target's state and why it has it."""
    key = target["Id"]
    if key not in group.targets:
        if CLOCK.seen < group.drained.get(key, 0):
            return "draining", "Target.DeregistrationInProgress", "Target deregistration is in progress"
        return "unused", "Target.NotRegistered", "Target is not registered to the target group"
    if not users_of(group):
        return "unused", "Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"
    if CLOCK.seen < group.since.get(key, 0) + CHECKS:
        return "initial", "Elb.RegistrationInProgress", "Target registration is in progress"
    if key in group.sick:
        return "unhealthy", "Target.FailedHealthChecks", "Health checks failed"
    return "healthy", None, None


def health_for(group, target, ec2_backend):
    port = (group.targets.get(target["Id"]) or target).get("Port", group.port)
    return FakeHealthStatus(target["Id"], port, group.health_check_port, *state_of(group, target))


init_group = FakeTargetGroup.__init__


def init(group, *args, **kwargs):
    group.since, group.drained, group.sick = {}, {}, set()
    init_group(group, *args, **kwargs)


FakeTargetGroup.__init__ = init
FakeTargetGroup.register = register_since
FakeTargetGroup.deregister = deregister_since
FakeTargetGroup.health_for = health_for

describe_target_health = ELBv2Backend.describe_target_health


def describe_health(backend, target_group_arn, targets):
    """Without targets, those that drain are shown too."""
    found = describe_target_health(backend, target_group_arn, targets)
    if not targets:
        group = backend.target_groups[target_group_arn]
        draining = [key for key, until in group.drained.items() if CLOCK.seen < until]
        found += [group.health_for({"Id": key}, None) for key in draining]
    return found


ELBv2Backend.describe_target_health = describe_health


# Who forwards to a group. moto forgets it when a rule or a listener is modified.


@functools.cache
def users_of(group):
    """The load balancers that forward to a target group; remembered, as each second asks it for every target."""
    from moto.elbv2.models import elbv2_backends

    backend = elbv2_backends[group.account_id][group.region_name]
    users = []
    for balancer in backend.load_balancers.values():
        for listener in balancer.listeners.values():
            actions = [action for rule in listener.rules.values() for action in rule.actions]
            if group.arn in [arn for action in actions for arn in groups_of(action.data)]:
                users.append(balancer.arn)
    return list(dict.fromkeys(users))


def groups_of(action):
    tuples = (action.get("ForwardConfig") or {}).get("TargetGroups") or []
    return [action["TargetGroupArn"]] if not tuples and action.get("TargetGroupArn") else [t["TargetGroupArn"] for t in tuples]


def forget(*_):
    """What forwards may be another after each request, and after each second: stacks make rules."""
    users_of.cache_clear()


def call_action(self):
    try:
        return BaseResponse.call_action(self)
    finally:
        forget()


ELBV2Response.call_action = call_action
world.STEPS.append(forget)

describe_target_groups = ELBV2Response.describe_target_groups


def describe_groups(self):
    for group in self.elbv2_backend.target_groups.values():
        group.load_balancer_arns = users_of(group)
    return describe_target_groups(self)


ELBV2Response.describe_target_groups = describe_groups

delete_target_group = ELBv2Backend.delete_target_group


def delete_group(backend, target_group_arn):
    group = backend.target_groups.get(target_group_arn)
    if group is not None and users_of(group):
        raise Wrong("ResourceInUse", f"Target group '{target_group_arn}' is currently in use by a listener or a rule")
    return delete_target_group(backend, target_group_arn)


ELBv2Backend.delete_target_group = delete_group


# Actions. An action to one group is shown both ways, as TargetGroupArn and as ForwardConfig.

init_action = FakeAction.__init__


def both_ways(action, data):
    if data.get("Type") == "forward":
        tuples = (data.get("ForwardConfig") or {}).get("TargetGroups") or []
        if not tuples and data.get("TargetGroupArn"):
            data["ForwardConfig"] = {"TargetGroups": [{"TargetGroupArn": data["TargetGroupArn"], "Weight": 1}]}
        elif len(tuples) == 1:
            data["TargetGroupArn"] = tuples[0]["TargetGroupArn"]
        else:
            data.pop("TargetGroupArn", None)
    init_action(action, data)


FakeAction.__init__ = both_ways

validate_actions = ELBv2Backend._validate_actions


def check_actions(backend, actions):
    """moto knows no limits, nor actions that verify a token."""
    validate_actions(backend, [action for action in actions if action.type != "jwt-validation"])
    for action in actions:
        tuples = (action.data.get("ForwardConfig") or {}).get("TargetGroups") or []
        if len(tuples) > TARGET_GROUPS:
            raise Wrong("TooManyTargetGroups", f"An action can forward to {TARGET_GROUPS} target groups at most")
        for entry in tuples:
            if not 0 <= int(entry.get("Weight", 1)) <= WEIGHT:
                raise Wrong("ValidationError", f"The weight of a target group has to be between 0 and {WEIGHT}: {entry.get('Weight')}")


ELBv2Backend._validate_actions = check_actions

modify_rule, modify_listener = ELBv2Backend.modify_rule, ELBv2Backend.modify_listener


def modify_other_rule(backend, rule_arn, conditions, actions):
    """The default rule is the listener's."""
    rules = backend.describe_rules(listener_arn=None, rule_arns=[rule_arn])
    if rules and rules[0].is_default:
        raise Wrong("OperationNotPermitted", f"Default rule '{rule_arn}' cannot be modified")
    return modify_rule(backend, rule_arn, conditions, actions)


def modify_checked(backend, arn, *args, **kwargs):
    """moto takes any default actions."""
    backend._validate_actions([FakeAction(action) for action in kwargs.get("actions") or (args[4] if len(args) > 4 else None) or []])
    return modify_listener(backend, arn, *args, **kwargs)


ELBv2Backend.modify_rule = modify_other_rule
ELBv2Backend.modify_listener = modify_checked
