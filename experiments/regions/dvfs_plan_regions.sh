# Marks the parts of a shell script that count, for dvfs-plan. For any POSIX shell; copy it beside your script.
#
#   . ./dvfs_plan_regions.sh
#   dvfs_plan_begin train
#   ...
#   dvfs_plan_end train
#   dvfs_plan_metric samples 64000
#
# Without DVFS_PLAN_REGIONS in the environment, or where what it names is no FIFO, nothing is written. Each mark says which
# script made it. It may be used under the terms of the MIT licence, or as public domain.
dvfs_plan_mark() {
    [ -n "${DVFS_PLAN_REGIONS:-}" ] || return 0
    # For reading too: a FIFO that nobody reads any more then neither holds the script up nor ends it.
    if [ -p "$DVFS_PLAN_REGIONS" ] && printf '%s\n' "$*" 1<>"$DVFS_PLAN_REGIONS"; then return 0; fi
    echo "dvfs-plan: region marks are lost: cannot write to the FIFO $DVFS_PLAN_REGIONS" >&2
}
dvfs_plan_begin() { dvfs_plan_mark begin "$1" - "$$"; }
dvfs_plan_end() { dvfs_plan_mark end "$1" - "$$"; }
# Where several run at once: announces that this one is ready, and returns when all are.
dvfs_plan_wait_for_others() {
    [ -p "${DVFS_PLAN_GO:-}" ] || return 0
    dvfs_plan_mark ready "$$"
    : <"$DVFS_PLAN_GO" # a FIFO: to open it is to wait
}
dvfs_plan_metric() { dvfs_plan_mark metric "$1" "$2" "${3:--}" "$$"; }
