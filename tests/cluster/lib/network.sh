# One network namespace for all nodes. Its default route ends in a veth: nothing that a test sends leaves the machine.

enter() { PATH=$bin:$PATH exec nsenter --net="/run/netns/$netns" -- "$@"; } # `ip netns exec` would hide /sys/fs/cgroup

inside() { (enter "$@"); }

kubectl() { inside "$bin/kubectl" "$@"; }

make_network() {
    ip netns add "$netns"
    inside ip link set lo up
    inside ip link add node0 type veth peer name sink0
    inside ip link set sink0 up
    inside ip link set node0 up
    inside ip route replace default dev node0
    inside sysctl -qw net.ipv4.ip_forward=1
}
