"""OpenDRIVE from plans of towns, and checks of what a plan became."""
