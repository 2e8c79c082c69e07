"""Where things are: the repository, and the shared material that may lie beside it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
RECIPES = ROOT / "recipes"
CASES = ROOT / "tests" / "cases"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="there is no `shared` folder beside the repository")
