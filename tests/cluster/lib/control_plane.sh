# etcd, API server, controllers, scheduler, DNS and the proxy, which serves all nodes since they share a namespace.

_audit_policy() { # who wrote what: a test can prove that nothing was written
    cat <<'Y'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, users: ["system:kube-scheduler", "system:kube-controller-manager"]}
  - {level: None, userGroups: ["system:nodes"]}
  - {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
Y
}

_corefile() {
    cat <<C
cluster.local in-addr.arpa {
  bind 192.168.111.1
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $KUBECONFIG
    pods insecure
  }
  cache 2
}
C
}

_api_server() {
    launch kube-apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --advertise-address=192.168.111.1 \
        --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
        --service-account-key-file="$pki/sa.key" --service-account-signing-key-file="$pki/sa.key" \
        --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.96.0.0/16 \
        --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
        --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" --kubelet-preferred-address-types=InternalIP \
        --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy --requestheader-username-headers=X-Remote-User \
        --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
        --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
        --audit-policy-file="$dir/audit.yaml" --audit-log-path="$dir/log/audit.log" --audit-log-maxsize=200 --audit-log-maxbackup=1
}

control_plane() {
    _audit_policy >"$dir/audit.yaml"
    _corefile >"$dir/Corefile"
    launch etcd etcd --data-dir "$dir/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
    _api_server
    until_true 60 kubectl get --raw /readyz
    # After an outage of the API server that is longer than the grace period, the controller takes every node for dead: no
    # heartbeat could be written. It then takes all endpoints from all Services for some seconds, whatever the pods do.
    launch kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$KUBECONFIG" --leader-elect=false --use-service-account-credentials=true \
        --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" --cluster-cidr=10.244.0.0/16 --allocate-node-cidrs=false \
        --node-monitor-grace-period=5m --horizontal-pod-autoscaler-sync-period=5s
    launch kube-scheduler "$bin/kube-scheduler" --kubeconfig="$KUBECONFIG" --leader-elect=false
    launch coredns "$bin/coredns" -conf "$dir/Corefile"
    launch kube-proxy "$bin/kube-proxy" --kubeconfig="$KUBECONFIG" --oom-score-adj=0 --hostname-override=node0 --proxy-mode=iptables \
        --cluster-cidr=10.244.0.0/16 --conntrack-max-per-core=0
}
