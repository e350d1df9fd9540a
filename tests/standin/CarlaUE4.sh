#!/bin/sh
# Stands in for CARLA's own start script, which starts the server as its child and waits for it.
root=$(dirname "$(readlink -f "$0")")
"$root/CarlaUE4/Binaries/Linux/CarlaUE4-Linux-Shipping" CarlaUE4 "$@"
