#!/usr/bin/env bash
# KEDA's module as a folder, with the scalers that tests need and without the SDKs of clouds, which were two thirds of
# what is compiled: pruned.sh FOLDER. Go takes no overlay over files of its module cache, so that FOLDER/go.mod replaces
# the module by the copy.
set -euo pipefail

triggers="prometheus"          # as the API calls them
sources="prometheus_scaler.go" # and where they are, in pkg/scalers

cd "$(dirname "${BASH_SOURCE[0]}")"
module=github.com/kedacore/keda/v2
go mod download "$module"
rm -rf "$1"
mkdir -p "$1"
# The module's files cannot be written.
cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' "$module")" "$1/keda"
cp go.mod go.sum "$1"
go mod edit -replace="$module=$1/keda" "$1/go.mod"
instead=$PWD/_instead
cd "$1/keda"

find pkg/scalers -maxdepth 1 -name "*.go" | grep -vxE "pkg/scalers/(scaler.go|${sources// /|})" | xargs rm
# Of the cases, which are two lines each, the wanted ones.
sed -i -E "/^\tcase \"/{N;/\"(${triggers// /|})\":/!d}" pkg/scaling/scalers_builder.go

# What names a cloud is stood in for by `_instead`, but for these constants, which KEDA reads everywhere.
sed -i '/^import (/,/^)/d; /^func /,/^}/d' pkg/scalers/azure/azure_service_principal.go
find pkg/scalers/{aws,azure,gcp} -name "*.go" ! -name azure_service_principal.go -delete
rm pkg/scaling/resolver/{aws,azure,gcp,hashicorp}*.go pkg/eventemitter/azure*.go
cp -r "$instead/." .

# Another HTTP client, which no such scaler asks for, and a reporter for KEDA's own tests.
sed -i '/^\tcase FastHTTP:/,/^\t}$/{/^\t}$/!d}; /predictkube-libs/d; /^\tpConfig /d' pkg/scalers/authentication/authentication_helpers.go
rm pkg/util/ginkgo_reporter.go
