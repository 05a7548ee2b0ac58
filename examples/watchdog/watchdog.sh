#!/bin/sh
# Repairs a server that is down, and leaves one alone that is only being stopped.
#
#   watchdog.sh STATE_FILE CHECK REPAIR
#
# STATE_FILE is the server's --state-file. While a planned stop runs, lameduck holds a lock on
# STATE_FILE.lock; nothing is a fault then, however long the drain takes. Otherwise CHECK (a command for
# sh) is run every INTERVAL seconds, and REPAIR after STRIKES failures in a row. INTERVAL times STRIKES is
# also the time that a replacement has to come up after a planned stop.
set -u
state=${1:?the state file} check=${2:?the check} repair=${3:?the repair}
interval=${INTERVAL:-5} most=${STRIKES:-4}

command -v flock >/dev/null || { echo "watchdog: needs flock (util-linux, busybox)" >&2; exit 2; }

# Whether a planned stop runs. The lock is held for no longer than this look, or it would be in
# lameduck's way. Without a lock file no lameduck has run here yet.
stopping() {
    [ -e "$state.lock" ] || return 1
    [ -r "$state.lock" ] || { echo "watchdog: $state.lock: not mine to read" >&2; exit 2; }
    ! flock -n "$state.lock" true
}

strikes=0
while :; do
    if stopping; then
        [ "$strikes" -eq 0 ] || echo "watchdog: a planned stop runs: not a fault"
        strikes=0
    elif sh -c "$check" >/dev/null 2>&1; then
        strikes=0
    # The stop may have begun during the check.
    elif stopping; then
        strikes=0
    else
        strikes=$((strikes + 1))
        echo "watchdog: strike $strikes of $most"
        if [ "$strikes" -ge "$most" ]; then
            echo "watchdog: down: repairing"
            sh -c "$repair"
            strikes=0
        fi
    fi
    sleep "$interval"
done
