#!/bin/sh
# Runs a command several times at once: copies.sh COUNT COMMAND…
count=$1
shift
for _ in $(seq "$count"); do
    "$@" &
done
wait
