"""The client as it is written. `perp._sync` is printed from it by tools/unasync.py."""
