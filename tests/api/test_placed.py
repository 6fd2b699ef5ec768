"""Revisions, rollbacks, bindings and works by REST: who may ask, in pages, and what is refused how."""

from pathlib import Path
from typing import Any

import pytest

