"""Checkpoints of the OpenCOOD and HEAL family, driven in closed loop."""
