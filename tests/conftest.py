"""How many examples the tests by hypothesis try: `make fuzz` takes the long run."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("usual", max_examples=200, deadline=None)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile("usual")
