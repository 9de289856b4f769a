#!/bin/sh
# Runs /bin/true again and again, as a script does that calls a small tool for each line: true_loop.sh [SECONDS].
seconds=${1:-3}
end=$(($(date +%s) + ${seconds%.*}))
echo ready
while [ "$(date +%s)" -lt "$end" ]; do
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        /bin/true
    done
done
