"""Lets moto's Systems Manager find parameters by their ARNs, as AWS does."""
from moto.ssm.models import SimpleSystemManagerBackend

plain = SimpleSystemManagerBackend.get_parameters


def get_parameters(self, names):
    found = {}
    for name in names:
        if not name.startswith("arn:"):
            found.update(plain(self, [name]))
            continue
        resource = name.split(":", 5)[5].removeprefix("parameter")
        for short in (resource, resource.removeprefix("/")):
            found.update({name: one for one in plain(self, [short]).values()})
    return found


SimpleSystemManagerBackend.get_parameters = get_parameters
