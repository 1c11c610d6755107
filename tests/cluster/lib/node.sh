# A node: one containerd and one kubelet. Nodes share the namespace, so their bridges route to each other.

_network_config() { # INDEX
    cat <<J
{"cniVersion": "1.0.0", "name": "$group-$1", "plugins": [
  {"type": "bridge", "bridge": "cni$1", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$dir/node$1/ipam", "ranges": [[{"subnet": "10.244.$1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
J
}

# Without CAP_SYS_RESOURCE runc cannot lower an OOM score and fails with "can't get final child's PID".
_containerd_config() { # INDEX
    cat <<T
version = 2
root = "$dir/node$1/containerd"
state = "$run/containerd$1"
[grpc]
  address = "$run/containerd$1.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "trellis.local/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/node$1/cni"
T
}

_kubelet_config() { # INDEX
    cat <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /$group/node$1
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
port: $((10250 + $1))
healthzPort: $((10350 + $1))
clusterDomain: cluster.local
clusterDNS: [192.168.111.1]
containerRuntimeEndpoint: unix://$run/containerd$1.sock
podLogsDir: $dir/node$1/pods
volumePluginDir: $dir/node$1/plugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
nodeStatusUpdateFrequency: 5s
Y
}

pause_image() {
    tar cf "$dir/pause.tar" -C "$bin" pause
    python3 "$here/oci_image.py" "$dir/pause.oci" trellis.local/pause:1 "$dir/pause.tar" /pause
}

start_node() { # INDEX
    local home=$dir/node$1 socket=$run/containerd$1.sock
    mkdir -p "$home/cni"
    inside ip addr replace "192.168.111.$(($1 + 1))/24" dev node0
    make_group "$group/node$1"
    _network_config "$1" >"$home/cni/10-bridge.conflist"
    _containerd_config "$1" >"$home/containerd.toml"
    _kubelet_config "$1" >"$home/kubelet.yaml"
    certificate "node$1" "/O=system:nodes/CN=system:node:node$1"
    make_kubeconfig "node$1"
    launch "containerd$1" containerd --config "$home/containerd.toml"
    until_true 30 ctr -a "$socket" version
    ctr -a "$socket" -n k8s.io image import "$dir/pause.oci" >/dev/null
    launch "kubelet$1" "$bin/kubelet" --kubeconfig="$dir/node$1.kubeconfig" --config="$home/kubelet.yaml" --hostname-override="node$1" \
        --node-ip="192.168.111.$(($1 + 1))" --root-dir="$home/kubelet"
}
