"""Measurements: what things cost on this machine."""
