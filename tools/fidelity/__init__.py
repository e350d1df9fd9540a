"""Public records of a real CARLA, driven again on carlite's vehicles."""
