#!/bin/sh
# The usual wrapper: wrapper.sh SECONDS SIGNAL COMMAND... It is here to be compared with.
delay=$1 signal=$2
shift 2
"$@" &
server=$!
trap 'sleep "$delay"; kill -s "$signal" "$server"; wait "$server"; exit 0' TERM
wait "$server"
