# Up and down. Down reads no file of a run that may have crashed: it takes away whatever bears the cluster's name.

up() { # NODES
    need_commands
    if is_up && until_true 10 kubectl get --raw /readyz; then
        how_to_enter
        return 0
    fi
    down
    build kubernetes coredns
    trap '_failed' EXIT
    _bring_up "$1"
    trap - EXIT
    touch "$dir/up"
    how_to_enter
}

how_to_enter() {
    echo "cluster '$name' is up: $(kubectl get nodes --no-headers | wc -l) nodes, kubeconfig $KUBECONFIG"
    echo "enter its network with: $here/cluster run bash"
}

_failed() {
    last_words
    down
    echo "error: cluster '$name' did not come up; the last lines of its parts are above" >&2
}

_bring_up() { # NODES
    local index
    mkdir -p "$dir"/{log,pid,daemons} "$run"
    make_group "$group"
    make_group "$group/daemons"
    pause_image
    make_network
    make_credentials
    inside ip addr replace 192.168.111.1/24 dev node0
    control_plane
    for ((index = 0; index < $1; index++)); do start_node "$index"; done
    for ((index = 0; index < $1; index++)); do
        until_true 60 kubectl wait --for=condition=Ready "node/node$index" --timeout=1s
    done
    until_true 30 kubectl get serviceaccount default
}

_kill_all() {
    local pids
    pids=$(group_pids | xargs)
    [[ -n $pids ]] || return 0
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
    return 1
}

_mounts() { awk -v a="$dir/" -v b="$run/" 'index($2, a) == 1 || index($2, b) == 1 {print $2}' /proc/self/mounts | sort -r; }

_remove_groups() {
    local hierarchy
    for hierarchy in $(hierarchies); do
        [[ ! -d $hierarchy/$group ]] || find "$hierarchy/$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
}

down() {
    until_true 30 _kill_all || fail "these processes of cluster '$name' cannot be ended: $(group_pids | xargs)"
    _mounts | xargs -r umount -l
    [[ ! -e /run/netns/$netns ]] || ip netns del "$netns"
    _remove_groups
    rm -rf --one-file-system "$dir" "$run"
    [[ ! -d /var/lib/cni ]] || grep -rlZF "$run/" /var/lib/cni | xargs -0r rm -f || true
    [[ ! -d /var/log/containers ]] || find /var/log/containers -lname "$dir/*" -delete
}
