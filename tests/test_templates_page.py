"""The page of template names lists those that there are."""

import re

from rcc.cluster.model import Cluster, Node
from rcc.resolve.model import ResolvedModel, ResolvedStaging
from rcc.resolve.names import base_names, gid_name, model_names, port_name, staging_names
from tests.support.paths import ROOT
from tests.support.texts import CUSTOM, load_texts

PAGE = (ROOT / "docs/reference/templates.md").read_text()


def test_every_name_stands_on_the_page() -> None:
    loaded, _ = load_texts(CUSTOM)
    assert loaded
    node = Node("desk", vars={"<name>": "x"})
    block = ResolvedStaging(
        "<id>", "sparse-rows", None, "/s", "/d", None, None, None, False, (), (), None, None, None, None, None
    )
    models = [ResolvedModel(id, "org/name", "main", None, None) for id in ("model", "<id>")]
    names = {
        *base_names(loaded.recipe, Cluster((node,)), None, node, 0, node, None),
        *model_names(models, {}, None),
        *staging_names([block]),
        "port",
        "node.gid_index",
    }
    assert port_name(None)
    assert gid_name(node, "auto")

    listed = set()
    for row in re.findall(r"(?m)^\| (`.*?`) \|", PAGE):
        first, *more = re.findall(r"`([^`]*)`", row)
        stem = first.rpartition(".")[0]
        listed |= {first, *(stem + name if name.startswith(".") else name for name in more)}
    assert listed == names
