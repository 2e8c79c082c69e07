"""Images as artifacts name them."""

from __future__ import annotations

import re

from rcc.plan.model import Plan, Rank


def staging_image(plan: Plan, rank: Rank) -> str:
    """The image that stages: the recipe's own, or the engine's."""
    image = plan.staging_image
    if image is None:
        return rank.container.image
    if image.digest is None:
        return image.reference
    name = image.reference.partition("@")[0]
    return f"{re.sub(r':[^/:]*$', '', name)}@{image.digest}"
