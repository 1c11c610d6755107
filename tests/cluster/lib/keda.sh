# KEDA on the cluster: the manifests of its own Go module, with an image of the two programs that were built from it.

_keda_image=trellis.local/keda:dev

keda() {
    build keda
    mkdir -p "$dir/keda"
    _keda_programs
    load "$dir/keda/image.oci"
    _keda_manifests
    # By server-side apply: the CRDs are larger than what an annotation holds.
    kubectl kustomize "$dir/keda" | kubectl apply --server-side -f - >/dev/null
    _keda_up || { kubectl -n keda get pods >&2; fail "KEDA did not come up; its logs: cluster run kubectl -n keda logs deploy/keda-operator"; }
    echo "KEDA is up in cluster '$name'"
}

_keda_up() {
    # The adapter waits for certificates that the operator makes, and the operator begins anew once it has made them.
    until_true 240 kubectl -n keda wait --for=condition=Available deployment/keda-operator deployment/keda-metrics-apiserver --timeout=2s &&
        until_true 60 kubectl wait --for=condition=Available apiservice/v1beta1.external.metrics.k8s.io --timeout=2s
}

_keda_programs() {
    tar cf "$dir/keda/programs.tar" -C "$bin/keda" --transform 's,^operator$,keda,;s,^adapter$,keda-adapter,' operator adapter
    python3 "$here/oci_image.py" "$dir/keda/image.oci" "$_keda_image" "$dir/keda/programs.tar" /keda
    rm "$dir/keda/programs.tar"
}

_keda_manifests() {
    local module
    need_go keda
    module=$(cd "$here/go/keda" && go list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)
    rm -rf "$dir/keda/config"
    # Kustomize takes no folder outside of its own; the module's files cannot be written.
    cp -r --no-preserve=mode "$module/config" "$dir/keda/config"
    cat >"$dir/keda/kustomization.yaml" <<Y
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [config/crd, config/general, config/rbac, config/manager, config/metrics-server, config/service_account]
images:
  - {name: ghcr.io/kedacore/keda, newName: ${_keda_image%:*}, newTag: ${_keda_image#*:}}
  - {name: ghcr.io/kedacore/keda-metrics-apiserver, newName: ${_keda_image%:*}, newTag: ${_keda_image#*:}}
patches:
  - target: {kind: Deployment}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/imagePullPolicy, value: Never}
      - {op: add, path: /spec/template/spec/securityContext/runAsUser, value: 1000}
      - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/initialDelaySeconds, value: 1}
      - {op: add, path: /spec/template/spec/containers/0/readinessProbe/periodSeconds, value: 1}
Y
}
