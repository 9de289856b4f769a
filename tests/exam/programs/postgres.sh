#!/bin/sh
# A postgres server in a folder of its own, and what its client asks of it: postgres.sh aggregate|commits [SECONDS].
# EXAM_NO_SYNC: commits that do not wait for the disk.
[ "$(id -u)" != 0 ] || exec runuser -u postgres --preserve-environment -- "$0" "$@"
commit=on
[ -z "${EXAM_NO_SYNC:-}" ] || commit=off
programs=$(find /usr/lib/postgresql -type d -name bin | sort -V | tail -n 1)
folder=$(mktemp -d)
cd "$folder" || exit 1
trap '"$programs/pg_ctl" -D "$folder/data" -m immediate -s stop; rm -rf "$folder"' EXIT
trap 'exit 143' TERM
"$programs/initdb" --no-sync --auth=trust --username=exam -D "$folder/data" >/dev/null || exit 1
# No parallel workers: one backend computes.
"$programs/pg_ctl" -D "$folder/data" -s -w -l "$folder/log" \
    -o "-c listen_addresses='' -c unix_socket_directories=$folder -c max_parallel_workers_per_gather=0 -c synchronous_commit=$commit" start || exit 1
ask() { "$programs/psql" --quiet --no-psqlrc --tuples-only -h "$folder" -U exam -d postgres -c "$1"; }
ask 'create table counts (n int)'
echo 'insert into counts values (1);' >commits
echo "select sum(i::bigint * i % 7), count(*) from generate_series(1, 1000000) as n(i) where i % 3 <> 1;" >aggregate
echo ready
# pgbench takes whole seconds.
seconds=${2:-3}
seconds=${seconds%.*}
[ "$seconds" -gt 0 ] || seconds=1
"$programs/pgbench" -h "$folder" -U exam -n -f "$1" -T "$seconds" postgres 2>/dev/null | awk '$1 == "tps" { print "wall_ns", 1e9 / $3 }'
