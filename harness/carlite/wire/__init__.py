"""Bytes and lists: what CARLA's client sends and expects, and nothing of what it means."""
