"""Crucible: closed-loop tests of cooperative driving."""
