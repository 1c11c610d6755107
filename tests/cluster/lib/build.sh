# Go programs, built once: a stamp beside each module's programs says of which go.mod, go.sum and sources they are.

version=1.34.2
modules="kubernetes coredns helm versitygw"
asked_for="kwok keda prometheus-operator" # these take long, and few tests or none need them: built where they are named

_flags() { # MODULE
    echo "-s -w"
    [[ $1 != kubernetes ]] || echo "-X k8s.io/component-base/version.gitVersion=v$version" \
        "-X k8s.io/component-base/version.gitMajor=${version%%.*} -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
}

# What no debugger will read takes a seventh of compiling; of what runs for moments alone, fast code takes another quarter.
_compiled() { # MODULE
    case $1 in
        helm | versitygw | keda | prometheus-operator) echo "all=-dwarf=false -N -l" ;;
        *) echo "all=-dwarf=false" ;;
    esac
}

_stamp() { (cd "$here/go/$1" && { _flags "$1"; _compiled "$1"; cat go.mod go.sum; find . -name "*.go" -o -name "*.sh" | sort | xargs -r cat; } | sha256sum); }

_built() { [[ -f $cache/$1.stamp && $(cat "$cache/$1.stamp") == "$(_stamp "$1")" ]]; }

# Some call a program `operator`, so each of them gets a folder.
_folder() { [[ $1 == keda || $1 == prometheus-operator ]] && echo "$bin/$1" || echo "$bin"; } # MODULE

build_module() { # MODULE
    need_go "$1"
    echo "cluster: building $1" >&2
    local start=$SECONDS targets=(tool) modfile=()
    [[ $1 != kubernetes ]] || targets+=(./pause)
    [[ $1 != coredns ]] || targets=(./coredns)
    if [[ $1 == keda ]]; then
        "$here/go/keda/pruned.sh" "$cache/keda-source" || fail "the part of KEDA that is compiled could not be copied"
        modfile=(-modfile="$cache/keda-source/go.mod")
    fi
    (cd "$here/go/$1" && CGO_ENABLED=0 go build "${modfile[@]}" -buildvcs=false -gcflags="$(_compiled "$1")" \
        -ldflags="$(_flags "$1" | xargs)" -o "$(_folder "$1")/" "${targets[@]}") 8>&- ||
        fail "go could not build $1"
    _stamp "$1" >"$cache/$1.stamp"
    echo "cluster: built $1 in $((SECONDS - start)) s" >&2
}

build() { # [MODULE…]
    local module wanted=("$@")
    [[ $# -gt 0 ]] || read -ra wanted <<<"$modules"
    mkdir -p "$bin" "$bin/keda" "$bin/prometheus-operator"
    for module in "${wanted[@]}"; do
        [[ -f $here/go/$module/go.mod ]] || fail "there is no module '$module'; there is: $modules $asked_for"
        ! _built "$module" || continue
        exec 8>"$cache/$module.lock"
        flock -w 1800 8 || fail "another build of $module has held $cache/$module.lock for half an hour"
        _built "$module" || build_module "$module"
        exec 8>&-
    done
}
