"""Auto Scaling groups whose instances come and go in time: activities, health, targets, and instance refreshes with
their cancellation and rollback. moto keeps the groups' settings, and its EC2 the instances.

What becomes of an instance is told by its image's name (world.fate): "crash" gets unhealthy soon after it came, "slow"
takes a minute, "noroom" can't be launched. EC2's launch templates take client tokens here.
"""
import math
import uuid
from datetime import timezone

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, InstanceState, autoscaling_backends
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import InvalidLaunchTemplateNameNotFoundWithNameError
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data
from moto.elbv2.models import elbv2_backends

import world
from world import CLOCK, Wrong, fate

LAUNCHES, SLOW, SICKENS, TERMINATES, RETRIES, BEGINS, GIVES_UP = 8, 60, 1, 4, 20, 2, 3  # seconds of AWS, and instances
ACTIVE = ("Pending", "InProgress", "Baking", "Cancelling", "RollbackInProgress")


def invalid(message):
    return Wrong("ValidationError", message)


# Instances. Those that are wanted are launched and terminated as time goes on.

FakeAutoScalingGroup.activities = None
FakeAutoScalingGroup.refreshes = None
FakeAutoScalingGroup.status = None
FakeAutoScalingGroup.failed_at = None
InstanceState.version = None
InstanceState.born = InstanceState.ends = 0
InstanceState.launch_template = property(
    lambda state: state.version
    and {
        "LaunchTemplateId": state.auto_scaling_group.ec2_launch_template.id,
        "LaunchTemplateName": state.auto_scaling_group.ec2_launch_template.name,
        "Version": state.version,
    }
)


def now():
    return CLOCK.date(CLOCK.seen).replace(tzinfo=None)


def live(group):
    return [state for state in group.instance_states if state.lifecycle_state in ("Pending", "InService")]


def serving(group):
    return [state for state in group.instance_states if state.lifecycle_state == "InService" and state.health_status == "Healthy"]


def tell(group, description, cause, code="Successful", message=None):
    group.activities = group.activities or []
    group.activities.insert(
        0,
        {
            "ActivityId": str(uuid.uuid4()),
            "AutoScalingGroupName": group.name,
            "AutoScalingGroupARN": group.arn,
            "Description": description,
            "Cause": cause,
            "StartTime": now(),
            "EndTime": now(),
            "StatusCode": code,
            "StatusMessage": message,
            "Progress": 100,
            "Details": "{}",
        },
    )


def number_of(group, version):
    """A version of the group's launch template as a number."""
    if group.ec2_launch_template is None:
        return None
    return str(group.ec2_launch_template.get_version(version).number)


def current(group):
    return number_of(group, group.launch_template_version) if group.ec2_launch_template else None


def image_name(group):
    image = next((i for i in group.ec2_backend.amis.values() if i.id == group.image_id), None)
    return (getattr(image, "name", None) or group.image_id or "") if image else group.image_id or ""


moto_launch = FakeAutoScalingGroup.replace_autoscaling_group_instances


def launch(group, count, version):
    """Launches instances of a version of the template; whether there was room."""
    old = getattr(group, "launch_template_version", None)
    if version is not None:
        group.launch_template_version = version
    try:
        kind = fate(image_name(group))
        if kind.startswith("noroom"):
            if group.failed_at is None or CLOCK.seen >= group.failed_at + RETRIES:
                group.failed_at = CLOCK.seen
                tell(
                    group,
                    "Launching a new EC2 instance.  Status Reason: We currently do not have sufficient capacity. Launching EC2 instance failed.",
                    f"At {now()}Z an instance was started in response to a difference between desired and actual capacity.",
                    "Failed",
                    "We currently do not have sufficient capacity. Launching EC2 instance failed.",
                )
            return False
        before = set(map(id, group.instance_states))
        moto_launch(group, count, group.get_propagated_tags())
        for state in group.instance_states:
            if id(state) not in before:
                state.lifecycle_state, state.born, state.version, state.fate = "Pending", CLOCK.seen, version, kind
    finally:
        if version is not None:
            group.launch_template_version = old
    return True


InstanceState.fate = ""


def targets_of(group, state):
    backend = elbv2_backends[group.account_id][group.region]
    for arn in group.target_group_arns:
        target_group = backend.target_groups.get(arn)
        if target_group is not None:
            yield target_group, {"Id": state.instance_id, "Port": target_group.port}


def terminate(group, state, why):
    if state.lifecycle_state in ("Terminating", "Terminated"):
        return
    state.lifecycle_state, state.ends = "Terminating", CLOCK.seen + TERMINATES
    for target_group, target in targets_of(group, state):
        if target["Id"] in target_group.targets:
            target_group.deregister([target])
    tell(group, f"Terminating EC2 instance: {state.instance_id}", f"At {now()}Z {why}")


def move(group):
    """Lets instances become what they are becoming."""
    for state in list(group.instance_states):
        if state.lifecycle_state == "Pending" and CLOCK.seen >= state.born + (SLOW if state.fate == "slow" else LAUNCHES):
            state.lifecycle_state = "InService"
            tell(
                group,
                f"Launching a new EC2 instance: {state.instance_id}",
                f"At {now()}Z an instance was started in response to a difference between desired and actual capacity.",
            )
            for target_group, target in targets_of(group, state):
                target_group.register([target])
        elif state.lifecycle_state == "InService" and state.fate == "crash" and CLOCK.seen >= state.born + LAUNCHES + SICKENS:
            state.health_status = "Unhealthy"
        elif state.lifecycle_state == "Terminating" and CLOCK.seen >= state.ends:
            group.instance_states.remove(state)
            group.ec2_backend.terminate_instances([state.instance_id])
        if state.health_status == "Unhealthy" and state.lifecycle_state == "InService":
            for refresh in active(group):
                refresh.failures += 1
            terminate(group, state, "an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped.")


def active(group):
    return [refresh for refresh in group.refreshes or [] if refresh.status in ACTIVE]


def suspended(group, process):
    return process in [p["ProcessName"] for p in group.suspended_processes]


def reconcile(group):
    refresh = next(iter(active(group)), None)
    wanted = (group.desired_capacity or 0) + (refresh.extra if refresh else 0)
    here = live(group)
    version = refresh.version if refresh and refresh.replaces else current(group)
    if len(here) < wanted and not suspended(group, "Launch"):
        launch(group, wanted - len(here), version)
    elif len(here) > wanted and not suspended(group, "Terminate"):
        unprotected = [state for state in here if not state.protected_from_scale_in]
        unprotected.sort(key=lambda state: (state.version == version, state.born))
        for state in unprotected[: len(here) - wanted]:
            terminate(group, state, "an instance was taken out of service in response to a difference between desired and actual capacity.")


def step(_):
    for regions in autoscaling_backends.values():
        for backend in regions.values():
            for group in list(backend.autoscaling_groups.values()):
                move(group)
                for refresh in active(group):
                    refresh.step()
                reconcile(group)
                if group.status and not group.instance_states:
                    del backend.autoscaling_groups[group.name]


world.STEPS.append(step)


def set_desired_capacity(group, new_capacity):
    group.desired_capacity = group.min_size if new_capacity is None else new_capacity


def dropped(backend, instance_ids):
    """Instances that somebody terminated; moto replaces them itself."""
    for group in backend.autoscaling_groups.values():
        group.instance_states = [state for state in group.instance_states if state.instance.id not in instance_ids]


FakeAutoScalingGroup.set_desired_capacity = set_desired_capacity
FakeAutoScalingGroup.active_instances = live
AutoScalingBackend.notify_terminate_instances = dropped
AutoScalingBackend.update_attached_target_groups = lambda backend, group_name: attach(backend.autoscaling_groups[group_name])


def attach(group):
    """Registers the instances that serve in groups that were attached."""
    for state in group.instance_states:
        if state.lifecycle_state == "InService":
            for target_group, target in targets_of(group, state):
                if target["Id"] not in target_group.targets:
                    target_group.register([target])


# Instance refreshes.


class Refresh:
    def __init__(self, group, wanted, preferences):
        self.id, self.group = str(uuid.uuid4()), group
        self.desired = wanted
        self.preferences = {"MinHealthyPercentage": 90, "MaxHealthyPercentage": 100, "InstanceWarmup": 0, "SkipMatching": False, **preferences}
        self.status, self.reason = "Pending", None
        self.begun, self.ended = CLOCK.seen, None
        spec = (wanted or {}).get("LaunchTemplate") or {}
        self.old = current(group)
        self.version = number_of(group, spec["Version"]) if spec.get("Version") else self.old
        self.olds = None  # the instances that have to go
        self.total = self.done = 0
        self.failures = self.extra = 0
        self.stopping = None
        self.rollback = None

    @property
    def replaces(self):
        return self.status in ("InProgress", "RollbackInProgress")

    def start(self):
        same = self.preferences["SkipMatching"] or self.status == "RollbackInProgress"
        self.olds = [state for state in live(self.group) if not same or state.version != self.version]
        self.total, self.done = len(self.olds), 0

    @property
    def left(self):
        return [state for state in self.olds or [] if state in live(self.group)]

    @property
    def percentage(self):
        return 100 if self.status in ("Successful", "RollbackSuccessful") else self.done * 100 // max(self.total, 1)

    def end(self, status, reason=None):
        self.status, self.reason, self.ended, self.extra = status, reason, CLOCK.seen, 0

    def step(self):
        if self.status == "Pending" and CLOCK.seen >= self.begun + BEGINS:
            self.status = "InProgress"
            self.start()
        if self.status == "Cancelling" and CLOCK.seen >= self.stopping + TERMINATES:
            self.end("Cancelled", "Cancelled due to user request.")
        if not self.replaces:
            return
        if self.failures >= GIVES_UP:
            self.fail()
            return
        group, left = self.group, self.left
        ready = [
            state
            for state in serving(group)
            if state in left or CLOCK.seen >= state.born + LAUNCHES + (self.preferences["InstanceWarmup"] or 0)
        ]
        self.done = min(self.total - len(left), len([state for state in ready if state not in left]))
        if not left and len(ready) >= (group.desired_capacity or 0):
            self.succeed()
            return
        least = math.ceil((group.desired_capacity or 0) * self.preferences["MinHealthyPercentage"] / 100)
        most = max(group.desired_capacity or 0, math.floor((group.desired_capacity or 0) * self.preferences["MaxHealthyPercentage"] / 100))
        self.extra = min(most - (group.desired_capacity or 0), len(left))
        if self.extra == 0 and left and least >= (group.desired_capacity or 0):
            least = (group.desired_capacity or 0) - 1  # it terminates one at least
        if left and len(ready) - 1 >= least:
            terminate(group, left[0], "an instance was taken out of service in response to an instance refresh.")
        self.reason = f"{len(left)} instances left to replace." if left else "Waiting for instances to warm up."

    def succeed(self):
        if self.status == "RollbackInProgress":
            self.end("RollbackSuccessful", self.rollback)
            return
        if (self.desired or {}).get("LaunchTemplate"):
            self.group.launch_template_version = self.group.provided_launch_template_version = self.version
        self.end("Successful")

    def fail(self):
        reason = "Instance refresh has failed. The instances that it launched don't become healthy."
        if self.status == "InProgress" and self.preferences.get("AutoRollback") and self.desired:
            self.back(reason)
        else:
            self.end("Failed" if self.status == "InProgress" else "RollbackFailed", reason)

    def back(self, reason):
        self.status, self.rollback, self.failures = "RollbackInProgress", reason, 0
        self.version = self.old
        self.start()

    def describe(self):
        out = {
            "InstanceRefreshId": self.id,
            "AutoScalingGroupName": self.group.name,
            "Status": self.status,
            "StatusReason": self.reason,
            "StartTime": CLOCK.date(self.begun).replace(tzinfo=None),
            "PercentageComplete": self.percentage,
            "InstancesToUpdate": len(self.left),
            "Preferences": self.preferences,
            "DesiredConfiguration": self.desired,
            "Strategy": "Rolling",
        }
        if self.ended is not None:
            out["EndTime"] = CLOCK.date(self.ended).replace(tzinfo=None)
        if self.rollback:
            out["RollbackDetails"] = {"RollbackReason": self.rollback}
        return out


def group_of(response):
    group = response.autoscaling_backend.autoscaling_groups.get(response.params["AutoScalingGroupName"])
    if group is None:
        raise invalid(f"AutoScalingGroup name not found - AutoScalingGroup '{response.params['AutoScalingGroupName']}' not found")
    return group


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def start_instance_refresh(self):
    group = group_of(self)
    if active(group):
        raise Wrong(
            "InstanceRefreshInProgress",
            "An Instance Refresh is already in progress and blocks the execution of this Instance Refresh.",
        )
    refresh = Refresh(group, plain(self.params.get("DesiredConfiguration")), plain(self.params.get("Preferences") or {}))
    if refresh.preferences["MaxHealthyPercentage"] - refresh.preferences["MinHealthyPercentage"] > 100:
        raise invalid("The difference between MaxHealthyPercentage and MinHealthyPercentage can't be greater than 100")
    group.refreshes = [refresh, *(group.refreshes or [])]
    return ActionResult({"InstanceRefreshId": refresh.id})


def describe_instance_refreshes(self):
    ids = self.params.get("InstanceRefreshIds")
    found = [refresh.describe() for refresh in group_of(self).refreshes or [] if not ids or refresh.id in ids]
    return ActionResult({"InstanceRefreshes": found})


def active_of(response):
    for refresh in active(group_of(response)):
        if refresh.status not in ("Cancelling", "RollbackInProgress"):
            return refresh
    raise Wrong("ActiveInstanceRefreshNotFound", "No in progress or pending Instance Refresh found for Auto Scaling group")


def cancel_instance_refresh(self):
    refresh = active_of(self)
    refresh.status, refresh.stopping, refresh.extra = "Cancelling", CLOCK.seen, 0
    return ActionResult({"InstanceRefreshId": refresh.id})


def rollback_instance_refresh(self):
    refresh = active_of(self)
    version = getattr(refresh.group, "launch_template_version", None)
    if not refresh.desired or version in (None, "$Latest", "$Default"):
        raise Wrong("IrreversibleInstanceRefresh", "The instance refresh can't be rolled back: it has no desired configuration, or the group no fixed version")
    refresh.back("Rolled back due to user request.")
    return ActionResult({"InstanceRefreshId": refresh.id})


# Groups.

moto_create, moto_update = AutoScalingResponse.create_auto_scaling_group, AutoScalingBackend.update_auto_scaling_group


def create_auto_scaling_group(self):
    name = self.params["AutoScalingGroupName"]
    if name in self.autoscaling_backend.autoscaling_groups:
        raise Wrong("AlreadyExists", f"AutoScalingGroup by this name already exists - A group with the name {name} already exists")
    return moto_create(self)


def update_group(backend, name, **wanted):
    """What isn't said stays; moto forgets a policy of mixed instances."""
    group = backend.autoscaling_groups.get(name)
    policy = group.mixed_instances_policy if group else None
    replaced = wanted.get("mixed_instances_policy") or wanted.get("launch_template") or wanted.get("launch_config_name")
    low, high, count = wanted.get("min_size"), wanted.get("max_size"), wanted.get("desired_capacity")
    if group is not None:
        low = group.min_size if low is None else low
        high = group.max_size if high is None else high
        count = min(max(group.desired_capacity or 0, low), high) if count is None else count
        if not low <= count <= high:
            raise invalid(f"Desired capacity:{count} must be between the specified min size:{low} and max size:{high}")
        wanted["desired_capacity"] = count
    updated = moto_update(backend, name=name, **wanted)
    if not replaced:
        updated.mixed_instances_policy = policy
    return updated


def set_capacity(self):
    group, count = group_of(self), self.params["DesiredCapacity"]
    if not group.min_size <= count <= group.max_size:
        side = "below min value" if count < group.min_size else "above max value"
        bound = group.min_size if count < group.min_size else group.max_size
        raise invalid(f"New SetDesiredCapacity value {count} is {side} {bound} for the AutoScalingGroup.")
    group.desired_capacity = count
    return EmptyResult()


def delete_auto_scaling_group(self):
    group = group_of(self)
    if not self.params.get("ForceDelete"):
        if any(state.lifecycle_state in ("Pending", "Terminating") for state in group.instance_states):
            raise Wrong("ScalingActivityInProgress", "You cannot delete an AutoScalingGroup while there are scaling activities in progress for that group.")
        if group.instance_states:
            raise Wrong("ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.")
    group.status, group.desired_capacity, group.min_size = "Delete in progress", 0, 0
    return EmptyResult()


def describe_scaling_activities(self):
    name = self.params.get("AutoScalingGroupName")
    groups = self.autoscaling_backend.autoscaling_groups.values()
    found = [activity for group in groups if name in (None, group.name) for activity in group.activities or []]
    first, most = int(self.params.get("NextToken") or 0), self.params.get("MaxRecords") or 100
    out = {"Activities": found[first : first + most]}
    if first + most < len(found):
        out["NextToken"] = str(first + most)
    return ActionResult(out)


def detach_load_balancer_target_groups(self):
    """moto fails for instances that aren't registered."""
    group, wanted = group_of(self), self.params["TargetGroupARNs"]
    for state in group.instance_states:
        for target_group, target in targets_of(group, state):
            if target_group.arn in wanted and target["Id"] in target_group.targets:
                target_group.deregister([target])
    group.target_group_arns = [arn for arn in group.target_group_arns if arn not in wanted]
    return EmptyResult()


def disable_metrics_collection(self):
    group, wanted = group_of(self), self.params.get("Metrics")
    group.metrics = [metric for metric in group.metrics if wanted and metric not in wanted]
    return EmptyResult()


# Policies and scheduled actions belong to a group; moto has one of each name.

moto_put_policy, moto_put_action = AutoScalingBackend.put_scaling_policy, AutoScalingBackend.put_scheduled_update_group_action


def put_scaling_policy(backend, name, *args, **kwargs):
    known, backend.policies = backend.policies, {}
    try:
        policy = moto_put_policy(backend, name, *args, **kwargs)
    finally:
        backend.policies = known
    policy.predictive_scaling_configuration = policy.predictive_scaling_configuration or None
    known[policy.auto_scaling_group_name, name] = policy
    return policy


def delete_policy(self):
    name, policies = self.params["PolicyName"], self.autoscaling_backend.policies
    for key, policy in list(policies.items()):
        if name in (policy.name, policy.arn) and self.params.get("AutoScalingGroupName") in (None, policy.auto_scaling_group_name):
            del policies[key]
    return EmptyResult()


def put_scheduled_update_group_action(backend, **wanted):
    start = wanted.get("start_time")
    if start is not None and start.replace(tzinfo=timezone.utc) < utcnow().replace(tzinfo=timezone.utc):
        raise invalid("Given start time is in the past")
    known, backend.scheduled_actions = backend.scheduled_actions, {}
    try:
        action = moto_put_action(backend, **wanted)
    finally:
        backend.scheduled_actions = known
    known[wanted["name"], wanted["scheduled_action_name"]] = action
    return action


def delete_scheduled_action(backend, auto_scaling_group_name, scheduled_action_name):
    if backend.scheduled_actions.pop((auto_scaling_group_name, scheduled_action_name), None) is None:
        raise invalid("Scheduled action name not found")


AutoScalingBackend.put_scaling_policy = put_scaling_policy
AutoScalingBackend.put_scheduled_update_group_action = put_scheduled_update_group_action
AutoScalingBackend.delete_scheduled_action = delete_scheduled_action
AutoScalingBackend.update_auto_scaling_group = update_group

for respond in (
    start_instance_refresh,
    describe_instance_refreshes,
    cancel_instance_refresh,
    rollback_instance_refresh,
    create_auto_scaling_group,
    delete_auto_scaling_group,
    describe_scaling_activities,
    detach_load_balancer_target_groups,
    disable_metrics_collection,
    delete_policy,
):
    setattr(AutoScalingResponse, respond.__name__, respond)
AutoScalingResponse.set_desired_capacity = set_capacity


# Launch templates: a client token makes one template, and one version.

MADE = {}  # the answers, by operation and token


def once(operation):
    def respond(self):
        token = self._get_param("ClientToken")
        key = operation.__name__, token
        if token and key in MADE:
            return ActionResult(MADE[key])
        answer = operation(self)
        if token:
            MADE[key] = answer.result
        return answer

    return respond


EC2Response.create_launch_template = once(EC2Response.create_launch_template)
EC2Response.create_launch_template_version = once(EC2Response.create_launch_template_version)


moto_delete = EC2Response.delete_launch_template


def delete_launch_template(self):
    """moto takes a name that isn't there for one that isn't said."""
    name = self._get_param("LaunchTemplateName")
    if name and name not in self.ec2_backend.launch_template_name_to_ids:
        raise InvalidLaunchTemplateNameNotFoundWithNameError(name)
    return moto_delete(self)


EC2Response.delete_launch_template = delete_launch_template
moto_version = LaunchTemplate.create_version


def create_version(template, data, description):
    """moto reads the user data of a template's first version only."""
    if isinstance(data.get("UserData"), str):
        data["UserData"] = parse_user_data(data["UserData"])
    return moto_version(template, data, description)


LaunchTemplate.create_version = create_version
