#!/bin/sh
# A kubeconfig on standard output: where the cluster is that kubectl talks to now, and a token.
#   kubeconfig.sh                                the hub's own, which does not expire (access.yaml)
#   kubeconfig.sh NAMESPACE ACCOUNT [DURATION]   of another service account, for people without a login
#                                                there; 24h unless said otherwise, as the cluster allows
set -eu

config() { kubectl config view --minify --flatten --output "jsonpath={.clusters[0].cluster.$1}"; }

if [ $# -ge 2 ]; then
  user=$2 namespace=$1
  token=$(kubectl --namespace "$1" create token "$2" --duration "${3:-24h}")
else
  user=hub namespace=roadstead
  token=$(kubectl --namespace roadstead get secret hub-token --output 'jsonpath={.data.token}' | base64 -d)
fi
server=$(config server)
authority=$(config certificate-authority-data)
[ -n "$token" ] && [ -n "$server" ] || { echo "no token, or no cluster, to write down" >&2; exit 1; }

cat <<EOF
apiVersion: v1
kind: Config
clusters:
  - name: hub-cluster
    cluster: {server: "$server", certificate-authority-data: "$authority"}
users:
  - name: $user
    user: {token: "$token"}
contexts:
  - name: $user
    context: {cluster: hub-cluster, user: $user, namespace: $namespace}
current-context: $user
EOF
