# The cluster's processes. All live in one cgroup, so that even after a crash they are found without any file of ours.

hierarchies() { # of cgroups: one of version 2, or one for each controller of version 1
    if [[ -f /sys/fs/cgroup/cgroup.controllers ]]; then echo /sys/fs/cgroup; else printf '%s\n' /sys/fs/cgroup/*/ | sed 's,/$,,'; fi
}

make_group() { # PATH below each hierarchy
    local hierarchy file
    for hierarchy in $(hierarchies); do mkdir -p "$hierarchy/$1"; done
    [[ -d /sys/fs/cgroup/cpuset ]] || return 0
    for file in cpuset.cpus cpuset.mems; do
        cat "/sys/fs/cgroup/cpuset/$(dirname "$1")/$file" >"/sys/fs/cgroup/cpuset/$1/$file"
    done
}

group_pids() {
    local hierarchy
    for hierarchy in $(hierarchies); do
        [[ ! -d $hierarchy/$group ]] || find "$hierarchy/$group" -name cgroup.procs -exec cat {} + 2>/dev/null || true
    done | sort -un
}

# The command is written down first, so that `start` can repeat it.
launch() { # NAME COMMAND…
    local daemon=$1
    shift
    printf '%q ' "$@" >"$dir/daemons/$daemon"
    start_daemon "$daemon"
}

_no_daemon() { # NAME
    local known=("$dir"/daemons/*)
    fail "there is no '$1'; there is: ${known[*]##*/}"
}

start_daemon() { # NAME
    [[ -f $dir/daemons/$1 ]] || _no_daemon "$1"
    ! running "$1" || return 0
    local group_procs
    group_procs=$(hierarchies | sed "s,$,/$group/daemons/cgroup.procs," | xargs)
    # shellcheck disable=SC2016
    setsid bash -c 'for procs in $1; do echo $$ >$procs; done; exec nsenter --net=/run/netns/'"$netns $(cat "$dir/daemons/$1")" \
        - "$group_procs" >>"$dir/log/$1.log" 2>&1 </dev/null 9>&- &
    echo $! >"$dir/pid/$1"
}

running() { [[ -f $dir/pid/$1 ]] && grep -qxF "$(cat "$dir/pid/$1")" <(group_pids); }

stop_daemon() { # NAME
    [[ -f $dir/daemons/$1 ]] || _no_daemon "$1"
    running "$1" || return 0
    local pid
    pid=$(cat "$dir/pid/$1")
    kill "$pid"
    until_true 10 eval "! kill -0 $pid" || kill -9 "$pid"
    rm -f "$dir/pid/$1"
}

# Whether it was brought up, and anything of it is still alive: after a crash or a restart of the machine only files are left.
is_up() { [[ -f $dir/up && -n $(group_pids) ]]; }

status() {
    is_up || { echo "cluster '$name' is not up"; return 1; }
    local daemon
    for daemon in "$dir"/daemons/*; do
        daemon=${daemon##*/}
        if running "$daemon"; then echo "$daemon runs, pid $(cat "$dir/pid/$daemon")"; else echo "$daemon is not running"; fi
    done
}

# What the parts said last, for whoever reads why a cluster did not come up.
last_words() {
    local log
    for log in "$dir"/log/*.log; do
        [[ ! -f $log ]] || { echo "--- ${log##*/}"; tail -n 8 "$log"; }
    done >&2
}
