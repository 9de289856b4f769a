#!/bin/sh
# A redis server and its benchmark, in a folder of their own: redis_requests.sh [SECONDS].
folder=$(mktemp -d)
redis-server --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" --logfile "$folder/log" &
server=$!
trap 'kill "$server"; wait; rm -rf "$folder"' EXIT
trap 'exit 143' TERM
until redis-cli -s "$folder/socket" ping >/dev/null 2>&1; do sleep 0.1; done
echo ready
timeout "${1:-3}" redis-benchmark -s "$folder/socket" -c 16 -P "${EXAM_PIPELINE:-1}" -n 100000000 -t get -q >/dev/null
redis-cli -s "$folder/socket" info stats | tr -d '\r' |
    awk -F: -v seconds="${1:-3}" '$1 == "total_commands_processed" { print "wall_ns", seconds / $2 * 1e9 }'
