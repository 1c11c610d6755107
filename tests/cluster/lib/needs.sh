# What must be there before anything is done, and the lock that keeps two runs apart.

fail() { echo "error: $*" >&2; exit 1; }

need_root() { [[ $EUID == 0 ]] || fail "a cluster of one's own needs root; set KUBECONFIG to use another cluster"; }

need_up() { is_up || fail "cluster '$name' is not up: run \`$here/cluster up\`"; }

# Command and the Debian package that brings it.
_commands="containerd:containerd ctr:containerd runc:runc etcd:etcd-server iptables:iptables conntrack:conntrack ip:iproute2
           nsenter:util-linux flock:util-linux openssl:openssl python3:python3"

missing_packages() {
    local pair
    for pair in $_commands; do
        command -v "${pair%:*}" >/dev/null || echo "${pair#*:}"
    done
    [[ -x /usr/lib/cni/bridge ]] || echo containernetworking-plugins
}

need_commands() {
    local missing
    missing=$(missing_packages | sort -u | xargs)
    [[ -z $missing ]] || fail "these Debian packages are missing: $missing (\`$here/cluster packages\` installs them)"
}

packages() {
    local missing
    missing=$(missing_packages | sort -u | xargs)
    [[ -n $missing ]] || return 0
    command -v apt-get >/dev/null || fail "these are missing and there is no apt-get to install them: $missing"
    need_root
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -yqq --no-install-recommends $missing; } >&2
    need_commands
}

# `up` and `down` are alone; commands inside the cluster hold the lock together, so that nobody takes it from under them.
exclusively() {
    exec 9>"$lock"
    flock -w 600 9 || fail "cluster '$name' is in use ($(lock_holders)); waited 10 minutes"
    "$@" 9>&9
}

shared() {
    exec 9>"$lock"
    flock -s -w 600 9 || fail "cluster '$name' is being brought up or down ($(lock_holders)); waited 10 minutes"
    "$@"
}

lock_holders() { command -v fuser >/dev/null && echo "processes $(fuser "$lock" 2>/dev/null | xargs)" || echo "see $lock"; }

until_true() { # SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || { echo "timed out: $*" >&2; return 1; }
        sleep 0.2
    done
}
