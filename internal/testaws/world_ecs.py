"""ECS with services that run: deployments, tasks, events, the circuit breaker, draining, and tasks that end. moto keeps
the clusters, the task definitions and the tags; what it has of services and tasks is replaced.

What becomes of a task is told by its image (world.fate): "crash" ends while it starts, "sick" starts and fails its
target group's health checks, "slow" takes a minute, "noroom" finds no room ("noroom-2": the first two times), "exit-3"
ends with 3.
"""
import copy
import itertools
import math
import uuid

from moto.core.responses import ActionResult
from moto.ec2 import ec2_backends
from moto.ec2.exceptions import InvalidSubnetIdError
from moto.ecs.exceptions import ServiceNotFoundException
from moto.ecs.models import EC2ContainerServiceBackend, ecs_backends
from moto.ecs.responses import EC2ContainerServiceResponse
from moto.elbv2.models import FakeAction, elbv2_backends

import mend_elb
import world
from world import CLOCK, Wrong, fate

STARTS, STARTS_SLOWLY, STOPS, RUNS, RUNS_LONG, SICKENS, SETTLES = 5, 60, 3, 10, 300, 20, 3  # seconds of AWS
FORGETS = 3600  # when stopped tasks aren't shown any more
MISSES = 2  # reads that don't find a new service

# What starts a deployment when UpdateService changes it, by the documentation of each.
TRIGGERS = (
    "taskDefinition",
    "networkConfiguration",
    "platformVersion",
    "loadBalancers",
    "serviceRegistries",
    "serviceConnectConfiguration",
    "volumeConfigurations",
    "vpcLatticeConfigurations",
)
# What a deployment shows of the service as it was.
SHOWN = (
    "taskDefinition",
    "capacityProviderStrategy",
    "launchType",
    "platformVersion",
    "platformFamily",
    "networkConfiguration",
    "serviceConnectConfiguration",
    "volumeConfigurations",
    "vpcLatticeConfigurations",
)
REVISED = (*SHOWN, "loadBalancers", "serviceRegistries")


def invalid(message):
    return Wrong("InvalidParameterException", message)


def client(message):
    return Wrong("ClientException", message)


class Task:
    def __init__(self, backend, cluster, definition, group, started_by, wanted, tags=()):
        self.id = uuid.uuid4().hex
        self.cluster = cluster
        self.arn = f"arn:aws:ecs:{backend.region_name}:{backend.account_id}:task/{cluster.name}/{self.id}"
        self.definition = definition
        self.group, self.started_by = group, started_by
        self.wanted = wanted  # launchType and so on
        self.tags = list(tags)
        self.created = CLOCK.seen
        fates = [fate(c.get("image", "")) for c in definition.container_definitions]
        self.fate = next((f for f in fates if f), "")
        self.starts = self.created + (STARTS_SLOWLY if self.fate == "slow" else STARTS)
        self.ends = None  # when it ends by itself
        self.stopping = self.stopped = None
        self.code = self.reason = ""
        self.exits = {}
        self.deployment = None
        self.targets = []
        number = int(self.id[:4], 16)
        self.ip = f"172.31.{number % 256}.{number // 256}"

    @property
    def running(self):
        return self.stopping is None and self.fate != "crash" and CLOCK.seen >= self.starts

    @property
    def active(self):
        return self.stopping is None

    @property
    def healthy(self):
        """Whether it runs and its targets, if it has any, are healthy."""
        return self.running and all(mend_elb.state_of(group, target)[0] in ("healthy", "unused") for group, target in self.targets)

    @property
    def draining(self):
        """A task's targets drain before it is stopped."""
        return any(mend_elb.state_of(group, target)[0] == "draining" for group, target in self.targets)

    def stop(self, code, reason, now):
        if self.stopping is None:
            self.stopping, self.code, self.reason = now, code, reason
            for group, target in self.targets:
                if target["Id"] in group.targets:
                    group.deregister([target])

    def step(self, now):
        if self.stopping is not None:
            if self.stopped is None and now >= self.stopping + STOPS and not self.draining:
                self.stopped = now
                for container in self.definition.container_definitions:
                    self.exits.setdefault(container["name"], 137)
            return
        if self.fate == "crash" and now >= self.starts:
            self.end(1, now)
        elif self.ends is not None and now >= self.ends:
            self.end(None, now)

    def end(self, code, now):
        """The essential containers end by themselves, which ends the others."""
        for container in self.definition.container_definitions:
            kind = fate(container.get("image", ""))
            if container.get("essential", True):
                own = int(kind.split()[1]) if kind.startswith("exit ") else 1 if kind == "crash" else 0
                self.exits[container["name"]] = own
        if code is not None and not any(self.exits.values()):
            self.exits[self.definition.container_definitions[0]["name"]] = code
        self.stop("EssentialContainerExited", "Essential container in task exited", now)

    def describe(self, now, tags):
        status = "STOPPED" if self.stopped is not None else ("DEACTIVATING" if self.draining else "DEPROVISIONING") if self.stopping is not None else "RUNNING" if self.running else "PENDING"
        attachment = str(uuid.UUID(self.id))
        awsvpc = self.definition.network_mode == "awsvpc"
        out = {
            "taskArn": self.arn,
            "clusterArn": self.cluster.arn,
            "taskDefinitionArn": self.definition.arn,
            "group": self.group,
            "startedBy": self.started_by,
            "createdAt": CLOCK.date(self.created),
            "lastStatus": status,
            "desiredStatus": "STOPPED" if self.stopping is not None else "RUNNING",
            "healthStatus": "UNKNOWN",
            "launchType": self.wanted.get("launchType"),
            "platformVersion": "1.4.0" if self.wanted.get("launchType") == "FARGATE" else None,
            "capacityProviderName": self.wanted.get("capacityProviderName"),
            "cpu": self.definition.cpu,
            "memory": self.definition.memory,
            "overrides": self.wanted.get("overrides") or {"containerOverrides": []},
            "enableExecuteCommand": self.wanted.get("enableExecuteCommand", False),
            "availabilityZone": self.cluster.region_name + "a",
            "connectivity": "CONNECTED",
            "version": 1,
            "tags": self.tags if tags else None,
            "containers": [
                {
                    "containerArn": self.arn.replace(":task/", ":container/") + "/" + container["name"],
                    "taskArn": self.arn,
                    "name": container["name"],
                    "image": container.get("image"),
                    "lastStatus": status if status in ("PENDING", "RUNNING", "STOPPED") else "RUNNING",
                    "exitCode": self.exits.get(container["name"]) if self.stopped is not None else None,
                    "healthStatus": "UNKNOWN",
                    "networkInterfaces": [{"attachmentId": attachment, "privateIpv4Address": self.ip}] if awsvpc else [],
                }
                for container in self.definition.container_definitions
            ],
        }
        if awsvpc:
            subnets = self.wanted.get("networkConfiguration", {}).get("awsvpcConfiguration", {}).get("subnets") or ["subnet-0"]
            details = {
                "subnetId": subnets[0],
                "networkInterfaceId": f"eni-{self.id[:17]}",
                "macAddress": "0a:00:00:00:00:01",
                "privateDnsName": f"ip-{self.ip.replace('.', '-')}.{self.cluster.region_name}.compute.internal",
                "privateIPv4Address": self.ip,
            }
            out["attachments"] = [
                {
                    "id": attachment,
                    "type": "ElasticNetworkInterface",
                    "status": "DELETED" if self.stopped is not None else "ATTACHED",
                    "details": [{"name": name, "value": value} for name, value in details.items()],
                }
            ]
        if self.fate != "crash" and now >= self.starts:
            out["startedAt"] = CLOCK.date(self.starts)
        if self.stopping is not None:
            out.update(stopCode=self.code, stoppedReason=self.reason, stoppingAt=CLOCK.date(self.stopping))
        if self.stopped is not None:
            out["stoppedAt"] = CLOCK.date(self.stopped)
        return {key: value for key, value in out.items() if value is not None}


numbers = itertools.count(1234567890123456789, 7919)


def number():
    return str(next(numbers))


class Deployment:
    """A deployment, which AWS also shows as a service deployment to a service revision."""

    def __init__(self, service, spec, now):
        self.service = service
        self.spec = {key: copy.deepcopy(spec[key]) for key in REVISED if key in spec}
        self.id = f"ecs-svc/{number()}"
        self.status = "PRIMARY"
        self.created = self.updated = now
        self.failed = 0
        self.counting = True  # failures, until a task runs
        self.steady = None  # since when all is as it should be
        self.places = None
        self.state, self.why = "IN_PROGRESS", f"ECS deployment {self.id} in progress."
        short = service.arn.split(":service/")[1]
        base = service.arn.split(":service/")[0]
        self.revision = f"{base}:service-revision/{short}/{number()}"
        self.arn = f"{base}:service-deployment/{short}/{uuid.uuid4().hex[:21]}"
        self.source = service.primary.revision if service.deployments else None
        self.progress, self.progress_why, self.finished, self.rollback = "IN_PROGRESS", None, None, None
        # Where ECS moves the traffic: how far it is, until when, what is to come, and which of two target groups it has.
        self.stage, self.until, self.shares = "SCALE_UP", now, None
        self.other = bool(service.deployments) and service.primary.other != bool(service.shifting)
        self.returned = False  # what ECS rolls back to

    @property
    def tasks(self):
        return [task for task in self.service.tasks if task.deployment is self]

    def count(self, kind):
        return sum(1 for task in self.tasks if getattr(task, kind))

    @property
    def wants(self):
        """How many tasks it should have in the end."""
        if self.status != "PRIMARY" or self.service.status != "ACTIVE":
            return 0
        return self.service.desired

    def end(self, progress, why, now):
        if self.finished is None:
            self.progress, self.progress_why, self.finished = progress, why, now

    def describe(self):
        running, active = self.count("running"), self.count("active")
        out = {
            **{key: self.spec[key] for key in SHOWN if self.spec.get(key) is not None},
            "id": self.id,
            "status": self.status,
            "desiredCount": self.wants,
            "runningCount": running,
            "pendingCount": active - running,
            "failedTasks": self.failed,
            "createdAt": CLOCK.date(self.created),
            "updatedAt": CLOCK.date(self.updated),
        }
        if not self.service.classic:
            out.update(rolloutState=self.state, rolloutStateReason=self.why)
        return out

    def summary(self, arn):
        deployment = next((d for d in self.service.history if d.revision == arn), None)
        tasks = deployment.tasks if deployment else []
        running = sum(1 for task in tasks if task.running)
        active = sum(1 for task in tasks if task.active)
        wanted = deployment.wants if deployment else 0
        return {"arn": arn, "requestedTaskCount": wanted, "runningTaskCount": running, "pendingTaskCount": active - running}

    def brief(self):
        out = {
            "serviceDeploymentArn": self.arn,
            "serviceArn": self.service.arn,
            "clusterArn": self.service.cluster.arn,
            "createdAt": CLOCK.date(self.created),
            "startedAt": CLOCK.date(self.created),
            "targetServiceRevisionArn": self.revision,
            "status": self.progress,
        }
        if self.progress_why:
            out["statusReason"] = self.progress_why
        if self.finished is not None:
            out["finishedAt"] = CLOCK.date(self.finished)
        return out

    def full(self):
        out = self.brief()
        del out["targetServiceRevisionArn"]
        breaker = self.service.breaker
        out.update(
            targetServiceRevision=self.summary(self.revision),
            sourceServiceRevisions=[self.summary(self.source)] if self.source else [],
            updatedAt=CLOCK.date(self.updated),
            deploymentConfiguration=self.service.spec["deploymentConfiguration"],
            deploymentCircuitBreaker={
                "status": "DISABLED" if not breaker.get("enable") else "TRIGGERED" if self.state == "FAILED" else "MONITORING"
                if self.finished is None else "MONITORING_COMPLETE",
                "failureCount": self.failed,
                "threshold": self.service.threshold,
            },
        )
        if self.rollback:
            out["rollback"] = self.rollback
        if self.service.shifting and self.source:
            out["lifecycleStage"] = self.stage
        return out


class Service:
    def __init__(self, backend, cluster, spec, now):
        self.backend, self.cluster, self.name = backend, cluster, spec["serviceName"]
        self.cluster_name = cluster.name
        self.arn = f"arn:aws:ecs:{backend.region_name}:{backend.account_id}:service/{cluster.name}/{self.name}"
        self.tags = spec.pop("tags", [])
        self.token = spec.pop("clientToken", None)
        self.request = None  # as it came, to know it again
        self.spec = spec
        self.status = "ACTIVE"
        self.desired = spec.get("desiredCount", 0)
        self.created = now
        self.reads = 0
        self.tasks, self.events, self.deployments, self.history = [], [], [], []
        self.steady = False
        self.rested = 0  # the look in which it was found to rest
        self.complained = None
        self.drains = None
        self.task_sets = []

    # What moto looks at.
    @property
    def scheduling_strategy(self):
        return self.spec.get("schedulingStrategy")

    @property
    def primary(self):
        return self.deployments[0]

    @property
    def classic(self):
        return any(lb.get("loadBalancerName") for lb in self.spec.get("loadBalancers") or [])

    @property
    def controlled(self):
        return self.spec["deploymentController"]["type"] == "ECS"

    @property
    def breaker(self):
        return self.spec["deploymentConfiguration"].get("deploymentCircuitBreaker") or {}

    @property
    def shifting(self):
        """How ECS moves the traffic itself, if it does."""
        strategy = self.spec["deploymentConfiguration"].get("strategy")
        return strategy if strategy in ("BLUE_GREEN", "LINEAR", "CANARY") else None

    @property
    def threshold(self):
        return max(3, min(200, math.ceil(self.desired * 0.5)))

    def say(self, text, now):
        self.events.insert(0, {"id": str(uuid.uuid4()), "createdAt": CLOCK.date(now), "message": f"(service {self.name}) {text}"})
        del self.events[100:]

    def deploy(self, now):
        deployment = Deployment(self, self.spec, now)
        if self.deployments:
            old = self.primary
            old.status, old.updated = "ACTIVE", now
            old.end("STOPPED", "The deployment was replaced by a newer one.", now)
        self.deployments.insert(0, deployment)
        self.history.insert(0, deployment)
        self.steady = False
        return deployment

    def place(self, deployment, now):
        """Starts a task, if there is room for it."""
        definition = self.backend.describe_task_definition(deployment.spec["taskDefinition"])
        kind = next((k for c in definition.container_definitions if (k := fate(c.get("image", ""))).startswith("noroom")), "")
        if kind:
            limit = int(kind.split()[1]) if " " in kind else math.inf
            if deployment.places is None or now - deployment.places[1] >= 10:
                done = deployment.places[0] if deployment.places else 0
                if done < limit:
                    deployment.places = (done + 1, now)
                    self.fail(deployment, now)
                    self.say("was unable to place a task. Reason: " + no_room(self.spec.get("launchType"))["detail"], now)
                    return
            elif deployment.places[0] < limit:
                return
        task = Task(self.backend, self.cluster, definition, f"service:{self.name}", deployment.id, {**self.spec, **deployment.spec})
        if self.spec.get("propagateTags") == "SERVICE":
            task.tags = list(self.tags)
        task.deployment = deployment
        self.tasks.append(task)
        self.say(f"has started 1 tasks: (task {task.id}).", now)

    def fail(self, deployment, now):
        if deployment.counting:
            deployment.failed += 1
            deployment.updated = now
            if deployment.failed == 3 and self.complained is not deployment:
                self.complained = deployment
                self.say("is unable to consistently start tasks successfully. For more information, see the Troubleshooting section.", now)

    @property
    def rests(self):
        """Whether nothing happens to it until somebody changes something."""
        return self.status == "INACTIVE" or self.steady and all(task.stopped is not None or task.running and not task.fate for task in self.tasks)

    def step(self, now):
        if self.rested == CLOCK.looks:
            return
        self.move(now)
        if self.rests:
            self.rested = CLOCK.looks

    def move(self, now):
        for task in self.tasks:
            was = task.active
            task.step(now)
            if was and not task.active:
                self.fail(task.deployment, now)
        for task in self.tasks:
            self.look_after(task, now)
        self.tasks = [task for task in self.tasks if task.stopped is None or now < task.stopped + FORGETS]
        if self.status == "DRAINING":
            for task in self.tasks:
                task.stop("ServiceSchedulerInitiated", f"Scaling activity initiated by (deployment {task.deployment.id})", now)
            if now >= self.drains + STOPS and all(task.stopped is not None for task in self.tasks):
                self.status, self.deployments = "INACTIVE", []
            return
        if self.status != "ACTIVE" or not self.deployments:
            return
        self.schedule(now)
        self.judge(now)

    def look_after(self, task, now):
        """A task that runs gets its targets; a sick one is stopped over them."""
        if not task.running:
            return
        if not task.targets:
            backend = elbv2_backends[self.backend.account_id][self.backend.region_name]
            for lb in task.deployment.spec.get("loadBalancers") or []:
                group = backend.target_groups.get(group_of(lb, task.deployment.other))
                if group is not None:
                    target = {"Id": task.ip if group.target_type == "ip" else f"i-{task.id[:17]}", "Port": lb["containerPort"]}
                    group.register([target])
                    if task.fate == "sick":
                        group.sick.add(target["Id"])
                    task.targets.append((group, target))
            if not task.targets or task.fate != "sick":
                task.deployment.failed, task.deployment.counting = 0, False
        if task.fate == "sick" and task.targets and now >= task.starts + SICKENS + (self.spec.get("healthCheckGracePeriodSeconds") or 0):
            group = task.targets[0][0]
            task.stop("ServiceSchedulerInitiated", f"Task failed ELB health checks in (target-group {group.arn})", now)
            self.say(f"(task {task.id}) failed ELB health checks in (target-group {group.arn}).", now)
            self.fail(task.deployment, now)

    def schedule(self, now):
        """Starts and stops tasks within the bounds that the service sets while it is deployed."""
        limits = self.spec["deploymentConfiguration"]
        most = max(1, math.floor(self.desired * limits["maximumPercent"] / 100))
        least = math.ceil(self.desired * limits["minimumHealthyPercent"] / 100)
        active = [task for task in self.tasks if task.active]
        primary = self.primary
        own = [task for task in active if task.deployment is primary]
        for task in own[self.desired :]:
            self.end(task, primary, now)
        if primary.state != "FAILED":
            for _ in range(min(self.desired - len(own), max(most, self.desired if len(own) == len(active) else 0) - len(active))):
                self.place(primary, now)
        if self.shifts(primary) and primary.stage != "CLEAN_UP":
            return
        healthy = sum(1 for task in active if task.healthy)
        for task in [task for task in active if task.deployment is not primary]:
            if not task.healthy or healthy - 1 >= least:
                healthy -= task.healthy
                self.end(task, primary, now)

    def end(self, task, deployment, now):
        task.stop("ServiceSchedulerInitiated", f"Scaling activity initiated by (deployment {deployment.id})", now)
        self.say(f"has stopped 1 running tasks: (task {task.id}).", now)

    def shifts(self, deployment):
        """Whether ECS moves the traffic to a deployment."""
        return self.shifting and deployment.source and deployment.state == "IN_PROGRESS" and not deployment.returned

    def shift(self, deployment, now):
        """Moves on a deployment to which ECS moves the traffic."""
        config = self.spec["deploymentConfiguration"]
        if deployment.stage == "SCALE_UP" and deployment.count("healthy") == self.desired:
            deployment.stage, deployment.until, deployment.shares = "PRODUCTION_TRAFFIC_SHIFT", now, shares(config)
        while deployment.stage == "PRODUCTION_TRAFFIC_SHIFT" and now >= deployment.until:
            if not deployment.shares:
                deployment.stage, deployment.until = "BAKE_TIME", now + 60 * (config.get("bakeTimeInMinutes") or 0)
                break
            percent, minutes = deployment.shares.pop(0)
            self.route(deployment, percent)
            deployment.until = now + 60 * minutes
        if deployment.stage == "BAKE_TIME" and now >= deployment.until:
            deployment.stage = "CLEAN_UP"

    def route(self, deployment, percent):
        """Gives a deployment a share of what the production rules forward."""
        backend = elbv2_backends[self.backend.account_id][self.backend.region_name]
        for lb in self.spec.get("loadBalancers") or []:
            rule = (lb.get("advancedConfiguration") or {}).get("productionListenerRule")
            if rule:
                groups = [
                    {"TargetGroupArn": group_of(lb, deployment.other), "Weight": percent},
                    {"TargetGroupArn": group_of(lb, not deployment.other), "Weight": 100 - percent},
                ]
                for found in backend.describe_rules(listener_arn=None, rule_arns=[rule]):
                    found.actions = [FakeAction({"Type": "forward", "ForwardConfig": {"TargetGroups": groups}})]
        mend_elb.forget()

    def judge(self, now):
        """Sees whether the deployment is over, or failed."""
        primary = self.primary
        if self.shifts(primary):
            self.shift(primary, now)
        for old in self.deployments[1:]:
            if all(task.stopped is not None for task in old.tasks):
                self.deployments.remove(old)
        settled = (
            len(self.deployments) == 1
            and primary.count("healthy") == self.desired
            and not any(task.active and not task.running for task in self.tasks)
        )
        if not settled:
            primary.steady = None
            self.steady = False
            if primary.state == "IN_PROGRESS" and self.breaker.get("enable") and primary.failed >= self.threshold:
                self.trip(primary, now)
            return
        primary.steady = now if primary.steady is None else primary.steady
        if now < primary.steady + SETTLES or self.steady:
            return
        self.steady = True
        if primary.state == "IN_PROGRESS":
            primary.state, primary.why, primary.updated = "COMPLETED", f"ECS deployment {primary.id} completed.", now
            failed = next((d for d in self.history if d.progress == "ROLLBACK_IN_PROGRESS"), None)
            if failed:
                failed.progress, failed.finished = "ROLLBACK_SUCCESSFUL", now
            primary.end("SUCCESSFUL", None, now)
            self.say(f"(deployment {primary.id}) deployment completed.", now)
        self.say("has reached a steady state.", now)

    def trip(self, failed, now):
        """The circuit breaker opens."""
        failed.state, failed.why, failed.updated = "FAILED", "ECS deployment circuit breaker: tasks failed to start.", now
        self.say(f"(deployment {failed.id}) deployment failed: tasks failed to start.", now)
        if self.breaker.get("rollback"):
            self.back(failed, "Service deployment rolled back because the circuit breaker threshold was exceeded.", now)
        else:
            failed.end("STOPPED", "The circuit breaker threshold was exceeded.", now)

    def back(self, failed, why, now):
        """Makes the last deployment that was completed the primary one again."""
        good = next((d for d in self.deployments if d is not failed and d.state == "COMPLETED"), None)
        if good is None:
            last = next((d for d in self.history if d is not failed and d.state == "COMPLETED"), None)
            if last is None:
                failed.end("ROLLBACK_FAILED", why, now)
                return
            self.spec.update({**{key: None for key in REVISED if key in self.spec}, **copy.deepcopy(last.spec)})
            good = self.deploy(now)
            good.end("SUCCESSFUL", None, now)
            self.history.remove(good)
            self.history.append(good)
        else:
            self.spec.update({**{key: None for key in REVISED if key in self.spec}, **copy.deepcopy(good.spec)})
            self.deployments.remove(good)
            self.deployments.insert(0, good)
        self.spec = {key: value for key, value in self.spec.items() if value is not None}
        failed.status, failed.updated = "ACTIVE", now
        failed.progress, failed.progress_why, failed.finished = "ROLLBACK_IN_PROGRESS", why, None
        failed.rollback = {"reason": why, "startedAt": CLOCK.date(now), "serviceRevisionArn": good.revision}
        good.status, good.state, good.steady, good.updated = "PRIMARY", "IN_PROGRESS", None, now
        good.why = f"ECS deployment circuit breaker: rolling back to deploymentId {good.id}."
        good.returned = True
        if self.shifting:
            self.route(good, 100)
        self.steady = False
        self.say(f"rolling back to deployment {good.id}.", now)

    def describe(self, tags):
        running, active = (sum(1 for task in self.tasks if getattr(task, kind)) for kind in ("running", "active"))
        out = {
            **self.spec,
            "serviceArn": self.arn,
            "serviceName": self.name,
            "clusterArn": self.cluster.arn,
            "status": self.status,
            "desiredCount": self.desired if self.status == "ACTIVE" else 0,
            "runningCount": running,
            "pendingCount": active - running,
            "deployments": [deployment.describe() for deployment in self.deployments],
            "events": list(self.events),
            "createdAt": CLOCK.date(self.created),
            "createdBy": f"arn:aws:iam::{self.backend.account_id}:root",
            "loadBalancers": self.spec.get("loadBalancers") or [],
            "serviceRegistries": self.spec.get("serviceRegistries") or [],
            "placementConstraints": self.spec.get("placementConstraints") or [],
            "placementStrategy": self.spec.get("placementStrategy") or [],
            "roleArn": self.spec.get("role"),
        }
        if self.deployments:
            out["currentServiceDeployment"] = self.history[0].arn if self.history[0].finished is None else None
            out["currentServiceRevisions"] = [deployment.summary(deployment.revision) for deployment in self.deployments]
        if tags:
            out["tags"] = self.tags
        for key in ("cluster", "role", "serviceConnectConfiguration", "volumeConfigurations", "vpcLatticeConfigurations"):
            out.pop(key, None)  # what a service doesn't show, or only its deployments
        return {key: value for key, value in out.items() if value is not None}


def group_of(lb, other):
    """The target group of a service's load balancer: where ECS moves the traffic, it has two."""
    more = lb.get("advancedConfiguration") or {}
    return more.get("alternateTargetGroupArn") if other and more else lb.get("targetGroupArn")


def shares(config):
    """Which shares of the traffic a deployment gets, in percent, each for so many minutes."""
    if config["strategy"] == "CANARY":
        canary = config.get("canaryConfiguration") or {}
        return [(canary.get("canaryPercent", 5), canary.get("canaryBakeTimeInMinutes", 10)), (100, 0)]
    if config["strategy"] == "LINEAR":
        linear = config.get("linearConfiguration") or {}
        step, minutes = linear.get("stepPercent", 10), linear.get("stepBakeTimeInMinutes", 6)
        return [(percent, minutes) for percent in range(int(step), 100, int(step))] + [(100, 0)]
    return [(100, 0)]


# Time.

TASKS = {}  # those of RunTask, by region
RUNS_BY_TOKEN = {}
FULL = {}  # how often an image found no room


def services(backend):
    return [service for service in backend.services.values() if isinstance(service, Service)]


def step(second):
    for regions in ecs_backends.values():
        for backend in regions.values():
            for service in services(backend):
                service.step(second)
            for task in tasks_of(backend):
                task.step(second)


def tasks_of(backend):
    return TASKS.setdefault(backend.region_name, [])


world.STEPS.append(step)


# The operations.


def newest(self, task_definition_str):
    """A task definition that new tasks may have; without a revision the newest active one."""
    text = task_definition_str.split("/")[-1]
    if ":" not in text:
        active = [d for d in self.task_definitions.get(text, {}).values() if d.status == "ACTIVE"]
        if not active:
            raise client("Unable to describe task definition.")
        return active[-1]
    return moto_describe(self, task_definition_str)


moto_describe = EC2ContainerServiceBackend.describe_task_definition
EC2ContainerServiceBackend.describe_task_definition = newest


def usable(backend, name):
    definition = backend.describe_task_definition(name)
    if definition.status != "ACTIVE":
        raise client("TaskDefinition is inactive")
    return definition


def cluster_of(response, parameters):
    cluster = response.ecs_backend._get_cluster(parameters.get("cluster") or "default")
    if cluster.status != "ACTIVE":
        raise Wrong("ClusterNotFoundException", "Cluster not found.")
    return cluster


def service_of(response, cluster, text):
    service = response.ecs_backend.services.get(f"{cluster.name}:{text.split('/')[-1]}")
    if service is None:
        raise ServiceNotFoundException
    return service


def check(response, spec, definition):
    """Refuses what AWS refuses of a service or a task."""
    backend = response.ecs_backend
    if spec.get("launchType") and spec.get("capacityProviderStrategy"):
        raise invalid(
            "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again."
        )
    network = (spec.get("networkConfiguration") or {}).get("awsvpcConfiguration")
    if definition.network_mode == "awsvpc" and not network:
        raise invalid("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
    if definition.network_mode != "awsvpc" and network:
        raise invalid("Network Configuration is not valid for the given networkMode of this task definition.")
    if spec.get("launchType") == "FARGATE" and "FARGATE" not in (definition.requires_compatibilities or []):
        raise invalid("Task definition does not support launch_type FARGATE.")
    if network:
        try:
            ec2_backends[backend.account_id][backend.region_name].describe_subnets(subnet_ids=network["subnets"])
        except InvalidSubnetIdError as e:
            raise invalid(f"Error retrieving subnet information for {network['subnets']}: {e.message} (ErrorCode: {e.code})") from e
    strategy = (spec.get("deploymentConfiguration") or {}).get("strategy", "ROLLING")
    for lb in spec.get("loadBalancers") or []:
        check_load_balancer(response, lb, definition)
        if strategy != "ROLLING" and not lb.get("advancedConfiguration"):
            raise invalid(f"advancedConfiguration is required for load balancers when using {strategy} deployment strategy.")


def check_load_balancer(response, lb, definition):
    container = next((c for c in definition.container_definitions if c["name"] == lb.get("containerName")), None)
    if container is None:
        raise invalid(f"The container {lb.get('containerName')} does not exist in the task definition.")
    if lb.get("containerPort") not in [p.get("containerPort") for p in container.get("portMappings") or []]:
        raise invalid(f"The container {container['name']} did not have a container port {lb.get('containerPort')} defined.")
    arn = lb.get("targetGroupArn")
    if not arn:
        return
    elb = elbv2_backends[response.current_account][response.region]
    group = elb.target_groups.get(arn)
    if group is None:
        raise invalid(f"The specified target group does not exist: {arn}")
    if definition.network_mode == "awsvpc" and group.target_type != "ip":
        raise invalid(
            f"The provided target group {arn} has target type {group.target_type}, which is incompatible with the awsvpc "
            "network mode specified in the task definition."
        )
    if not mend_elb.users_of(group):
        raise invalid(f"The target group with targetGroupArn {arn} does not have an associated load balancer.")


def settings(spec):
    """A service's members with AWS's defaults."""
    daemon = spec.get("schedulingStrategy") == "DAEMON"
    out = {
        "schedulingStrategy": "REPLICA",
        "enableECSManagedTags": False,
        "enableExecuteCommand": False,
        "propagateTags": "NONE",
        "availabilityZoneRebalancing": "DISABLED" if daemon else "ENABLED",
        **copy.deepcopy(spec),
    }
    out["deploymentController"] = {"type": "ECS", **(spec.get("deploymentController") or {})}
    out["deploymentConfiguration"] = configured({}, spec.get("deploymentConfiguration") or {}, daemon)
    if out.get("loadBalancers"):
        out.setdefault("healthCheckGracePeriodSeconds", 0)
    if not out.get("capacityProviderStrategy"):
        out.setdefault("launchType", "EC2")
    if out.get("launchType") == "FARGATE":
        out.setdefault("platformVersion", "LATEST")
        out["platformFamily"] = "Linux"
    return out


def configured(old, wanted, daemon=False):
    defaults = {
        "deploymentCircuitBreaker": {"enable": False, "rollback": False},
        "maximumPercent": 100 if daemon else 200,
        "minimumHealthyPercent": 0 if daemon else 100,
        "strategy": "ROLLING",
        "bakeTimeInMinutes": 0,
    }
    return {**defaults, **old, **copy.deepcopy(wanted)}


def plain(value):
    """Parameters as plain data; moto's parser makes other dictionaries."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def create_service(self):
    spec = plain(self.params)
    cluster = cluster_of(self, spec)
    key = f"{cluster.name}:{spec['serviceName']}"
    old = self.ecs_backend.services.get(key)
    if old is not None and old.status == "DRAINING":
        raise invalid("Unable to Start a service that is still Draining.")
    if old is not None and old.status == "ACTIVE":
        if old.token and old.token == spec.get("clientToken") and old.request == spec:
            return ActionResult({"service": old.describe(True)})
        raise invalid("Creation of service was not idempotent.")
    if (spec.get("deploymentController") or {}).get("type", "ECS") == "ECS":
        if not spec.get("taskDefinition"):
            raise invalid("TaskDefinition can not be blank.")
        definition = usable(self.ecs_backend, spec["taskDefinition"])
        check(self, spec, definition)
    daemon = spec.get("schedulingStrategy") == "DAEMON"
    if daemon and spec.get("launchType") == "FARGATE":
        raise invalid("The daemon scheduling strategy is not supported for the FARGATE launch type.")
    if not daemon and spec.get("desiredCount") is None:
        raise invalid("DesiredCount is required for the REPLICA scheduling strategy.")
    request = copy.deepcopy(spec)
    if spec.get("taskDefinition"):
        spec["taskDefinition"] = definition.arn
    now = CLOCK.seen
    service = Service(self.ecs_backend, cluster, settings(spec), now)
    service.request = request
    if daemon:
        service.desired = max(1, len(self.ecs_backend.container_instances.get(cluster.name, {})))
    if service.controlled:
        service.deploy(now)
    self.ecs_backend.services[key] = service
    return ActionResult({"service": service.describe(True)})


def providers(spec):
    items = spec.get("capacityProviderStrategy") or []
    return sorted((item["capacityProvider"], item.get("weight", 0), item.get("base", 0)) for item in items)


def update_service(self):
    wanted = plain(self.params)
    cluster = cluster_of(self, wanted)
    service = service_of(self, cluster, wanted.pop("service"))
    if service.status != "ACTIVE":
        raise Wrong("ServiceNotActiveException", "Service was not ACTIVE.")
    wanted.pop("cluster", None)
    force, desired = wanted.pop("forceNewDeployment", False), wanted.pop("desiredCount", None)
    if wanted.get("taskDefinition"):
        wanted["taskDefinition"] = usable(self.ecs_backend, wanted["taskDefinition"]).arn
    if desired is not None and service.scheduling_strategy == "DAEMON":
        raise invalid("The desired count can't be set for a service with the DAEMON scheduling strategy.")
    if "capacityProviderStrategy" in wanted and not force and providers(wanted) != providers(service.spec):
        raise invalid(
            "When switching from launch type to capacity provider strategy on an existing service, or making a change to a "
            "capacity provider strategy on a service that is already using one, you must force a new deployment."
        )
    spec = {**service.spec, **wanted}
    if wanted.get("capacityProviderStrategy"):
        service.launch_type = spec.pop("launchType", None) or getattr(service, "launch_type", None)
    elif "capacityProviderStrategy" in wanted and getattr(service, "launch_type", None):
        spec["launchType"] = service.launch_type
    if spec.get("taskDefinition"):
        # A revision that was deregistered stays in use, but no deployment begins with it.
        definition = self.ecs_backend.describe_task_definition(spec["taskDefinition"])
        if force or any(spec.get(key) != service.spec.get(key) for key in TRIGGERS):
            definition = usable(self.ecs_backend, spec["taskDefinition"])
        check(self, spec, definition)
    if "deploymentConfiguration" in wanted:
        spec["deploymentConfiguration"] = configured(service.spec["deploymentConfiguration"], wanted["deploymentConfiguration"])
    begins = force or any((spec.get(key) or None) != (service.spec.get(key) or None) for key in TRIGGERS)
    service.spec = spec
    if desired is not None:
        service.steady = service.steady and desired == service.desired
        service.desired = desired
        spec["desiredCount"] = desired
    if begins and service.controlled:
        service.deploy(CLOCK.seen)
    return ActionResult({"service": service.describe(True)})


def delete_service(self):
    cluster = cluster_of(self, self.params)
    service = service_of(self, cluster, self.params["service"])
    if service.status == "INACTIVE":
        raise ServiceNotFoundException
    if service.desired > 0 and not self.params.get("force") and service.scheduling_strategy != "DAEMON":
        raise invalid("The service cannot be stopped while it is scaled above 0.")
    if service.status == "ACTIVE":
        service.status, service.drains, service.desired = "DRAINING", CLOCK.seen, 0
        for deployment in service.deployments:
            deployment.end("STOPPED", "The service was deleted.", CLOCK.seen)
    return ActionResult({"service": service.describe(True)})


def describe_services(self):
    cluster = cluster_of(self, self.params)
    names = self.params["services"]
    if not names:
        raise invalid("Services cannot be empty.")
    if len(names) > 10:
        raise invalid("Services cannot have more than 10 entries.")
    found, failures = [], []
    for text in names:
        service = self.ecs_backend.services.get(f"{cluster.name}:{text.split('/')[-1]}")
        if service is not None:
            service.reads += 1
        if service is None or service.reads <= MISSES:
            arn = text if text.startswith("arn:") else cluster.arn.replace(":cluster/", ":service/") + "/" + text
            failures.append({"arn": arn, "reason": "MISSING"})
        else:
            found.append(service.describe("TAGS" in (self.params.get("include") or [])))
    return ActionResult({"services": found, "failures": failures})


def page(parameters, member, items, usual=100):
    """At most maxResults of a list, from where nextToken says."""
    first = int(parameters.get("nextToken") or 0)
    most = parameters.get("maxResults") or usual
    if not 1 <= most <= 100:
        raise invalid("maxResults must be between 1 and 100.")
    out = {member: items[first : first + most]}
    if first + most < len(items):
        out["nextToken"] = str(first + most)
    return ActionResult(out)


def list_services(self):
    cluster, wanted = cluster_of(self, self.params), self.params
    found = [
        service.arn
        for service in services(self.ecs_backend)
        if service.cluster is cluster
        and service.status == "ACTIVE"
        and wanted.get("launchType") in (None, service.spec.get("launchType"))
        and wanted.get("schedulingStrategy") in (None, service.scheduling_strategy)
    ]
    return page(wanted, "serviceArns", sorted(found), 10)


def list_services_by_namespace(self):
    space = self.params["namespace"].split("/")[-1]
    found = [
        service.arn
        for service in services(self.ecs_backend)
        if (service.spec.get("serviceConnectConfiguration") or {}).get("namespace", "").split("/")[-1] == space
    ]
    return page(self.params, "serviceArns", sorted(found), 10)


def all_tasks(backend, cluster):
    own = [task for service in services(backend) for task in service.tasks] + tasks_of(backend)
    return [t for t in own if t.cluster is cluster and (t.stopped is None or CLOCK.seen < t.stopped + FORGETS)]


def list_tasks(self):
    wanted = self.params
    cluster = cluster_of(self, wanted)
    if wanted.get("startedBy") and any(wanted.get(key) for key in ("family", "serviceName", "containerInstance", "launchType", "desiredStatus")):
        raise invalid("startedBy must be the only filter.")
    if wanted.get("serviceName"):
        service_of(self, cluster, wanted["serviceName"])
    group = f"service:{wanted['serviceName'].split('/')[-1]}" if wanted.get("serviceName") else None
    stopped = wanted.get("desiredStatus", "RUNNING") == "STOPPED"
    found = [
        task.arn
        for task in all_tasks(self.ecs_backend, cluster)
        if wanted.get("desiredStatus") != "PENDING"
        and stopped == (task.stopping is not None)
        and group in (None, task.group)
        and wanted.get("startedBy") in (None, task.started_by)
        and wanted.get("family") in (None, task.definition.family)
        and wanted.get("launchType") in (None, task.wanted.get("launchType"))
        and wanted.get("containerInstance") is None
    ]
    return page(wanted, "taskArns", found)


def describe_tasks(self):
    cluster = cluster_of(self, self.params)
    names = self.params["tasks"]
    if not names:
        raise invalid("Tasks cannot be empty.")
    if len(names) > 100:
        raise invalid("Tasks cannot have more than 100 entries.")
    by_id = {task.id: task for task in all_tasks(self.ecs_backend, cluster)}
    found, failures = [], []
    for text in names:
        task = by_id.get(text.split("/")[-1])
        if task is None:
            arn = text if text.startswith("arn:") else cluster.arn.replace(":cluster/", ":task/") + "/" + text
            failures.append({"arn": arn, "reason": "MISSING"})
        else:
            found.append(task.describe(CLOCK.seen, "TAGS" in (self.params.get("include") or [])))
    return ActionResult({"tasks": found, "failures": failures})


def stop_task(self):
    cluster = cluster_of(self, self.params)
    by_id = {task.id: task for task in all_tasks(self.ecs_backend, cluster)}
    task = by_id.get(self.params["task"].split("/")[-1])
    if task is None:
        raise invalid("The referenced task was not found.")
    task.stop("UserInitiated", self.params.get("reason") or "Task stopped by user", CLOCK.seen)
    return ActionResult({"task": task.describe(CLOCK.seen, True)})


def no_room(launch_type):
    if launch_type == "FARGATE":
        text = "Capacity is unavailable at this time. Please try again later or in a different availability zone"
        return {"reason": text, "detail": text}
    text = "no container instance met all of its requirements. The closest matching container instance has insufficient memory available"
    return {"reason": "RESOURCE:MEMORY", "detail": text}


def run_task(self):
    wanted = plain(self.params)
    cluster = cluster_of(self, wanted)
    count = wanted.get("count", 1)
    if not 1 <= count <= 10:
        raise invalid("Count must be between 1 and 10.")
    token = wanted.get("clientToken")
    before = RUNS_BY_TOKEN.get((cluster.arn, token)) if token else None
    if before is not None:
        request, tasks = before
        if request != wanted:
            raise Wrong("ConflictException", "The clientToken was used with other parameters.")
        return ActionResult({"tasks": [task.describe(CLOCK.seen, True) for task in tasks], "failures": []})
    definition = usable(self.ecs_backend, wanted["taskDefinition"])
    check(self, wanted, definition)
    if not wanted.get("capacityProviderStrategy"):
        wanted_type = wanted.get("launchType") or "EC2"
    else:
        wanted_type = None
    kind = next((k for c in definition.container_definitions if (k := fate(c.get("image", ""))).startswith("noroom")), "")
    if kind:
        FULL[definition.arn] = FULL.get(definition.arn, 0) + 1
        if FULL[definition.arn] <= (int(kind.split()[1]) if " " in kind else math.inf):
            return ActionResult({"tasks": [], "failures": [{"arn": cluster.arn, **no_room(wanted_type)}]})
    tasks = []
    group = wanted.get("group") or f"family:{definition.family}"
    tags = wanted.get("tags") or []
    if wanted.get("propagateTags") == "TASK_DEFINITION":
        tags = definition.tags + tags
    for _ in range(count):
        task = Task(self.ecs_backend, cluster, definition, group, wanted.get("startedBy"), {**wanted, "launchType": wanted_type}, tags)
        if wanted.get("capacityProviderStrategy"):
            task.wanted["capacityProviderName"] = wanted["capacityProviderStrategy"][0]["capacityProvider"]
        if task.fate != "crash":
            task.ends = task.starts + (RUNS_LONG if task.fate == "slow" else RUNS)
        tasks.append(task)
    tasks_of(self.ecs_backend).extend(tasks)
    if token:
        RUNS_BY_TOKEN[cluster.arn, token] = plain(self.params), tasks
    return ActionResult({"tasks": [task.describe(CLOCK.seen, True) for task in tasks], "failures": []})


def list_service_deployments(self):
    cluster = cluster_of(self, self.params)
    service = service_of(self, cluster, self.params["service"])
    states = self.params.get("status")
    found = [d.brief() for d in service.history if not states or d.progress in states]
    return page(self.params, "serviceDeployments", found, 20)


def deployments(backend):
    return [d for service in services(backend) for d in service.history]


def described(wanted, known, member):
    found = [known[arn] for arn in wanted if arn in known]
    return ActionResult({member: found, "failures": [{"arn": arn, "reason": "MISSING"} for arn in wanted if arn not in known]})


def describe_service_deployments(self):
    known = {d.arn: d.full() for d in deployments(self.ecs_backend)}
    return described(self.params["serviceDeploymentArns"], known, "serviceDeployments")


def describe_service_revisions(self):
    known = {
        d.revision: {
            **d.spec,
            "serviceRevisionArn": d.revision,
            "serviceArn": d.service.arn,
            "clusterArn": d.service.cluster.arn,
            "createdAt": CLOCK.date(d.created),
        }
        for d in deployments(self.ecs_backend)
    }
    return described(self.params["serviceRevisionArns"], known, "serviceRevisions")


def stop_service_deployment(self):
    arn = self.params["serviceDeploymentArn"]
    deployment = next((d for d in deployments(self.ecs_backend) if d.arn == arn), None)
    if deployment is None:
        raise Wrong("ServiceDeploymentNotFoundException", "The service deploy ARN that you specified can't be found.")
    if deployment.finished is not None:
        raise Wrong("ConflictException", "The service deployment is over.")
    now = CLOCK.seen
    deployment.state, deployment.why = "FAILED", "ECS deployment was stopped by a user."
    if self.params.get("stopType", "ROLLBACK") == "ROLLBACK":
        deployment.service.back(deployment, "Service deployment was stopped by a user.", now)
    else:
        deployment.end("STOPPED", "Service deployment was stopped by a user.", now)
    return ActionResult({"serviceDeploymentArn": arn})


# Task definitions: the answer of RegisterTaskDefinition has the tags, and the lists have pages.

moto_register = EC2ContainerServiceResponse.register_task_definition
moto_deregister = EC2ContainerServiceResponse.deregister_task_definition
moto_describe_definition = EC2ContainerServiceResponse.describe_task_definition


def register_task_definition(self):
    wanted = plain(self.params)
    names = [container.get("name") for container in wanted["containerDefinitions"]]
    if len(set(names)) < len(names):
        raise client("Container names must be unique.")
    if "FARGATE" in (wanted.get("requiresCompatibilities") or []):
        for member in ("cpu", "memory"):
            if not wanted.get(member):
                raise client(f"Fargate requires that '{member}' be defined at the task level.")
        if wanted.get("networkMode", "awsvpc") != "awsvpc":
            raise client("Fargate only supports network mode \u2018awsvpc\u2019.")
    definition = moto_register(self).result["taskDefinition"]
    definition.registered_at = CLOCK.date(CLOCK.seen)
    definition.network_mode = wanted.get("networkMode") or definition.network_mode
    return ActionResult({"taskDefinition": definition, "tags": definition.tags})


def deregister_task_definition(self):
    answer = moto_deregister(self)
    answer.result["taskDefinition"].deregistered_at = CLOCK.date(CLOCK.seen)
    return answer


def list_task_definitions(self):
    wanted = self.params
    found = self.ecs_backend.list_task_definitions(wanted.get("familyPrefix"), wanted.get("status", "ACTIVE"))
    found.sort(key=lambda arn: (arn.rsplit(":", 1)[0], int(arn.rsplit(":", 1)[1])), reverse=wanted.get("sort") == "DESC")
    return page(wanted, "taskDefinitionArns", found)


def list_clusters(self):
    return page(self.params, "clusterArns", self.ecs_backend.list_clusters())


moto_describe_clusters = EC2ContainerServiceResponse.describe_clusters


def describe_clusters(self):
    for cluster in self.ecs_backend.clusters.values():
        own = [task for task in all_tasks(self.ecs_backend, cluster) if task.active]
        cluster.running_tasks_count = sum(1 for task in own if task.running)
        cluster.pending_tasks_count = len(own) - cluster.running_tasks_count
        cluster.active_services_count = sum(
            1 for service in services(self.ecs_backend) if service.cluster is cluster and service.status == "ACTIVE"
        )
    return moto_describe_clusters(self)


for respond in (
    create_service,
    update_service,
    delete_service,
    describe_services,
    list_services,
    list_services_by_namespace,
    list_tasks,
    describe_tasks,
    stop_task,
    run_task,
    list_service_deployments,
    describe_service_deployments,
    describe_service_revisions,
    stop_service_deployment,
    register_task_definition,
    deregister_task_definition,
    list_task_definitions,
    list_clusters,
    describe_clusters,
):
    setattr(EC2ContainerServiceResponse, respond.__name__, respond)


def begin():
    """The account begins with a cluster."""
    ecs_backends["123456789012"]["eu-west-1"].create_cluster("test")


world.BEGINNINGS.append(begin)
