# Images for the nodes. Of an OCI folder only the blobs that a node lacks are read: a changed source costs one small layer.

load() { # OCI_ARCHIVE|OCI_FOLDER…
    local image socket jobs=() job
    for image in "$@"; do
        [[ -f $image || -f $image/index.json ]] || fail "$image is neither an OCI archive nor an OCI folder"
    done
    for socket in "$run"/containerd*.sock; do
        _load_node "$socket" "$@" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job" || fail "containerd did not take the images"; done
}

_load_node() { # SOCKET IMAGE…
    local socket=$1 image
    shift
    for image in "$@"; do
        if [[ -f $image ]]; then ctr -a "$socket" -n k8s.io image import "$image"; else _load_folder "$socket" "$image"; fi >/dev/null || return 1
    done
    _forget_replaced "$socket"
}

# containerd keeps an image under its digest after its name has gone to a newer one; a day of builds would fill the disk.
_forget_replaced() { # SOCKET
    ctr -a "$1" -n k8s.io image ls |
        awk 'NR == 1 {next} $1 ~ /^sha256:/ {digest[$1] = $3; next} {named[$3]} END {for (id in digest) if (!(digest[id] in named)) print id}' |
        xargs -r ctr -a "$1" -n k8s.io image rm >/dev/null
}

_load_folder() { # SOCKET FOLDER
    tar -cf - -C "$2" --exclude-from=<(ctr -a "$1" -n k8s.io content ls -q | sed 's,^sha256:,blobs/sha256/,') oci-layout index.json blobs |
        ctr -a "$1" -n k8s.io image import -
}
