"""carlite: a GPU-free server that speaks CARLA 0.9.16's wire protocol."""

CARLA_VERSION = "0.9.16"
