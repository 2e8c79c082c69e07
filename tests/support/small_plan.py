"""A plan of one rank, made by hand, for tests of what is done with plans."""

from dataclasses import replace
from typing import Any

from rcc.plan.canonical import digest
from rcc.plan.model import CarriedFile, Container, Group, Image, K8s, Mount, Plan, Rank, Unpinned

K8S = K8s(None, None, None, None, (), (), {}, None, "lws")


def small_plan(**changes: Any) -> Plan:
    """One rank of `hello` on `spark1`; `changes` replace fields of the plan."""
    plan = Plan(
        id="hello",
        name="Hello",
        plan="",
        locked=False,
        unpinned=(Unpinned("image", "engine", "it is a tag"),),
        image=Image("localhost/hello:1", None),
        staging_image=None,
        models=(),
        group=Group(1, (0,), None, "self"),
        files=(CarriedFile("hi.sh", "0" * 64, True, b"#!/bin/sh\n"),),
        k8s=K8S,
        ranks=(_rank(),),
    )
    plan = replace(plan, **changes)
    return replace(plan, plan=digest(plan))


def _rank() -> Rank:
    return Rank(
        rank=0,
        node="spark1",
        host="10.0.0.11",
        fabric="10.0.0.11",
        head=True,
        ssh=None,
        install_dir="~/.rcc/hello",
        arch="amd64",
        gpus=0,
        unified_memory=False,
        hf_cache=None,
        cache_dir="~/.cache/rcc/hello",
        ports=(8000,),
        gid=None,
        asserts=(),
        container=container(),
        staging=(),
    )


def container(**changes: Any) -> Container:
    """The container of rank 0; `changes` replace its fields."""
    made = Container(
        name="hello-rank0",
        image="localhost/hello:1",
        platform="linux/amd64",
        enter=None,
        entrypoint=("httpd", "-f"),
        command=("-p", "8000"),
        env={"GREETING": "hi"},
        late_env={},
        secrets=(),
        user=None,
        mounts=(Mount("/srv/www", "/www", True, "bind"),),
        shm_size=None,
        memory=None,
        network="host",
        ipc="private",
        gpus=None,
        devices=(),
        cap_add=(),
        ulimits={},
        oom_score_adj=None,
        stop_grace=10,
        restart="unless-stopped",
        healthcheck=None,
        labels={},
    )
    return replace(made, **changes)
