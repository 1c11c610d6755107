# The Go that builds the cluster's programs: that of the machine, else one from Go's own module proxy, kept in the cache.

go_release=1.26.8
go_sha256=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7

_new_enough() { command -v go >/dev/null && printf '1.26\n%s\n' "$(go env GOVERSION 2>/dev/null | sed 's/^go//')" | sort -CV; }

# Released toolchains are modules too. A module keeps no modes of files, so that what runs is made to run.
_fetch_go() {
    local proxy=${GOPROXY:-https://proxy.golang.org} part
    part=$cache/toolchain.$$
    echo "cluster: fetching Go $go_release (72 MB)" >&2
    mkdir -p "$part"
    curl -fsSL --retry 3 -m 600 -o "$part/go.zip" "${proxy%%[,|]*}/golang.org/toolchain/@v/v0.0.1-go$go_release.linux-amd64.zip" &&
        sha256sum --quiet -c - <<<"$go_sha256  $part/go.zip" >&2 &&
        python3 -m zipfile -e "$part/go.zip" "$part" &&
        chmod -R +x "$part"/golang.org/*/bin "$part"/golang.org/*/pkg/tool || { rm -rf "$part"; return 1; }
    rm -rf "$cache/go"
    mv "$part"/golang.org/* "$cache/go"
    rm -rf "$part"
}

need_go() { # WHAT FOR
    ! _new_enough || return 0
    [[ $(uname -m) == x86_64 ]] || fail "go is missing: it builds $1 (1.26 or newer, https://go.dev/dl)"
    [[ -f $cache/go/VERSION && $(head -n 1 "$cache/go/VERSION") == "go$go_release" ]] || _fetch_go ||
        fail "go is missing and could not be fetched: it builds $1 (1.26 or newer, https://go.dev/dl)"
    PATH=$cache/go/bin:$PATH
}
