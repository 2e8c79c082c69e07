#!/bin/sh
# Tells the row store which rows of each Engram table this rank holds, then runs the engine.
#
# The ranges come from the checkpoint's own headers: of N rows over R ranks, the first N mod R ranks hold one row
# more. They must tile the table exactly; a row that two ranks hold would count twice in the all-reduce.
set -eu

: "${NODE_RANK:?the rank of this node is not set}" "${NNODES:?the number of nodes is not set}"

model=
previous=
for word in "$@"; do
    [ "$previous" != --model-path ] || model=$word
    previous=$word
done
[ -d "$model" ] || { printf 'engram-rows: --model-path names no folder: %s\n' "$model" >&2; exit 1; }

SPARK_ENGRAM_ROWS=$(python3 -I - "$model" "$NODE_RANK" "$NNODES" <<'PYTHON'
import json
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

snapshot, rank, ranks = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
index = json.loads((snapshot / "model.safetensors.index.json").read_text())
rows = {}
for tensor, shard in index["weight_map"].items():
    if fnmatchcase(tensor, "layers.*.engram.embed.*"):
        with open(snapshot / shard, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        rows.setdefault(int(re.search(r"\d+", tensor)[0]), set()).add(header[tensor]["shape"][0])
if not rows or any(len(counts) != 1 for counts in rows.values()):
    sys.exit(f"engram-rows: the Engram tables of {snapshot} are missing, or weight and scale differ in rows")


def start(count, rank):
    base, more = divmod(count, ranks)
    return rank * base + min(rank, more)


print(",".join(f"{layer}:{start(n, rank)}:{start(n, rank + 1)}" for layer, (n,) in sorted(rows.items())))
PYTHON
)
export SPARK_ENGRAM_ROWS

exec python3 -m sglang.launch_server "$@"
