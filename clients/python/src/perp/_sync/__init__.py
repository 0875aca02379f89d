"""Printed from perp._async by tools/unasync.py: do not edit."""
