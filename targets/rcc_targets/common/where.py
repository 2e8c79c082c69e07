"""Where things are inside a container, and how the files beside an artifact are called."""

ENTER = "/rcc/enter"
"""The script that `Container.enter` runs."""

SECRETS = "/rcc/secrets"
"""A folder with a file per secret, where the target mounts one."""

RUNNING = "/rcc/running"
"""A folder that is there as long as a container has it mounted, where the target has one; see compose's volumes."""

ENGINE_RUNS = f"{RUNNING}/engine"
"""A file in it that is there as long as the engine's container runs."""

NODE_PART = "rcc-node.pyz"
STAGE_FILE = "stage.json"
ENTER_FILE = "enter"
PREPARE_FILE = "prepare"
ASSERTS_FILE = "asserts"
CARRIED = "carried"
"""The folder, among an artifact's files, of those that the recipe brings."""

PREPARE = "/rcc/prepare"
PYZ = "/rcc/rcc-node.pyz"
STAGE = "/rcc/stage.json"
