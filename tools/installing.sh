#!/bin/sh
# installing.sh VENV [SECONDS]: while VENV/.installing is there, a line every few seconds on how far
# an installation is. It ends with the installation, and with the make that began it.
venv=$1
every=${2:-10}
began=$(date +%s)
sleep "$every"
while [ -e "$venv/.installing" ] && kill -0 "$PPID" 2>/dev/null; do
    there=$(find "$venv"/lib -maxdepth 3 -name '*.dist-info' 2>/dev/null | wc -l)
    size=$(du -sm "$venv" 2>/dev/null | cut -f 1)
    echo "  still installing, after $(($(date +%s) - began)) s: $((there)) packages, ${size:-0} MB in $venv"
    sleep "$every"
done
