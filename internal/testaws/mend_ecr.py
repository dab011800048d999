"""Adds what moto's ECR lacks and a deployment asks for: rules of a pull through cache. Nothing is pulled by them."""
from moto.core.responses import ActionResult
from moto.ecr.responses import ECRResponse


def rules_of(response):
    return response.ecr_backend.__dict__.setdefault("cache_rules", [])


def create_pull_through_cache_rule(self):
    rule = {
        "ecrRepositoryPrefix": self._get_param("ecrRepositoryPrefix"),
        "upstreamRegistryUrl": self._get_param("upstreamRegistryUrl"),
        "registryId": self.current_account,
    }
    rules_of(self).append(rule)
    return ActionResult(rule)


def describe_pull_through_cache_rules(self):
    return ActionResult({"pullThroughCacheRules": rules_of(self)})


ECRResponse.create_pull_through_cache_rule = create_pull_through_cache_rule
ECRResponse.describe_pull_through_cache_rules = describe_pull_through_cache_rules
