# Certificates and kubeconfigs of one cluster, good for 30 days.

certificate() { # NAME SUBJECT
    openssl req -newkey rsa:2048 -nodes -keyout "$pki/$1.key" -out "$pki/$1.csr" -subj "$2" 2>/dev/null
    openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -out "$pki/$1.crt" -days 30 -extfile <(
        echo "subjectAltName=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:192.168.111.1"
        echo "extendedKeyUsage=serverAuth,clientAuth"
    ) 2>/dev/null
}

make_kubeconfig() { # NAME
    cat >"$dir/$1.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: trellis, cluster: {server: "https://127.0.0.1:6443", certificate-authority: $pki/ca.crt}}]
users: [{name: $1, user: {client-certificate: $pki/$1.crt, client-key: $pki/$1.key}}]
contexts: [{name: trellis, context: {cluster: trellis, user: $1}}]
current-context: trellis
Y
}

make_credentials() {
    mkdir -p -m 700 "$pki"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$pki/ca.key" -out "$pki/ca.crt" -days 30 -subj /CN=trellis 2>/dev/null
    openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null
    certificate apiserver /CN=kube-apiserver
    certificate front-proxy /CN=front-proxy
    certificate admin /O=system:masters/CN=admin
    make_kubeconfig admin
}
