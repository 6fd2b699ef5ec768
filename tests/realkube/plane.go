package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

const (
	loopback     = "127.0.0.1"
	serviceCIDR  = "10.96.0.0/16"
	serviceIP    = "10.96.0.1" // the first of serviceCIDR: the address of service kubernetes
	podCIDR      = "10.244.0.0/16"
	fakeNodeIP   = "10.245.0.1"
	tokenIssuer  = "https://kubernetes.default.svc.cluster.local"
	etcdQuota    = "2147483648"
	clientQPS    = "200" // the defaults of 20 and 50 would be what a test of 500 jobs measures
	clientBurst  = "400"
	lowestPort   = 20000
	portsToTry   = 12000 // up to 31999: below the range that outgoing connections take ports from
	portAttempts = 200
)

// plane is one control plane's place on disk and on loopback. The ports are kept with its data:
// kubeconfigs name them, and they must stay true over a restart.
type plane struct {
	dir           string
	APIServerPort int `json:"apiserverPort"`
	EtcdPort      int `json:"etcdPort"`
	EtcdPeerPort  int `json:"etcdPeerPort"`
}

func (p *plane) file(name string) string { return filepath.Join(p.dir, name) }
func (p *plane) pki(name string) string  { return filepath.Join(p.dir, "pki", name) }
func (p *plane) server() string          { return fmt.Sprintf("https://%s:%d", loopback, p.APIServerPort) }
func (p *plane) etcd() string            { return fmt.Sprintf("http://%s:%d", loopback, p.EtcdPort) }
func (p *plane) etcdPeer() string        { return fmt.Sprintf("http://%s:%d", loopback, p.EtcdPeerPort) }
func kubeconfigFlag(path string) string  { return "--kubeconfig=" + path }

// openPlane reads the plane in dir, or makes a new one there: ports, then credentials.
func openPlane(dir string) (*plane, error) {
	p := &plane{dir: dir}
	stored, err := os.ReadFile(p.file("plane.json"))
	if err == nil {
		return p, json.Unmarshal(stored, p)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(p.file("pki"), 0o700); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	p.APIServerPort, p.EtcdPort, p.EtcdPeerPort = ports[0], ports[1], ports[2]
	if err := writeCredentials(p); err != nil {
		return nil, err
	}
	record, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return p, os.WriteFile(p.file("plane.json"), record, 0o600) // last: marks a complete plane
}

// freePorts finds n distinct free loopback ports, all held open until the last is found.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range portAttempts {
		port := lowestPort + rand.IntN(portsToTry)
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port))
		if err != nil {
			continue
		}
		defer l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("found no %d free ports on %s", n, loopback)
}

// Durability of the disk is not what these tests are about: etcd does not wait for it.
func (p *plane) etcdFlags() []string {
	return []string{
		"--name=default",
		"--data-dir=" + p.file("etcd"),
		"--listen-client-urls=" + p.etcd(), "--advertise-client-urls=" + p.etcd(),
		"--listen-peer-urls=" + p.etcdPeer(), "--initial-advertise-peer-urls=" + p.etcdPeer(),
		"--initial-cluster=default=" + p.etcdPeer(),
		"--unsafe-no-fsync=true", "--quota-backend-bytes=" + etcdQuota, "--log-level=warn",
	}
}

func (p *plane) apiserverFlags() []string {
	return []string{
		"--bind-address=" + loopback, "--advertise-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.APIServerPort),
		"--endpoint-reconciler-type=none", // loopback is no valid address of an Endpoints object
		"--etcd-servers=" + p.etcd(),
		"--tls-cert-file=" + p.pki("apiserver.crt"), "--tls-private-key-file=" + p.pki("apiserver.key"),
		"--client-ca-file=" + p.pki("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=" + tokenIssuer,
		"--service-account-key-file=" + p.pki("sa.pub"),
		"--service-account-signing-key-file=" + p.pki("sa.key"),
		"--requestheader-client-ca-file=" + p.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.pki("front-proxy-client.crt"),
		"--proxy-client-key-file=" + p.pki("front-proxy-client.key"),
		"--service-cluster-ip-range=" + serviceCIDR,
		"--allow-privileged=true", "--profiling=false", "--shutdown-delay-duration=0s", "--v=1",
	}
}

// All controllers run: they cost no more than a chosen few, and without node-lifecycle new nodes
// would keep their not-ready taint.
func (p *plane) controllerFlags() []string {
	return []string{
		kubeconfigFlag(p.file("controller-manager.kubeconfig")),
		"--controllers=*", "--use-service-account-credentials=true",
		"--secure-port=0", "--leader-elect=false",
		"--service-account-private-key-file=" + p.pki("sa.key"), "--root-ca-file=" + p.pki("ca.crt"),
		"--cluster-signing-cert-file=" + p.pki("ca.crt"), "--cluster-signing-key-file=" + p.pki("ca.key"),
		"--kube-api-qps=" + clientQPS, "--kube-api-burst=" + clientBurst, "--v=1",
	}
}

func (p *plane) schedulerFlags() []string {
	return []string{
		kubeconfigFlag(p.file("scheduler.kubeconfig")), "--secure-port=0", "--leader-elect=false",
		"--kube-api-qps=" + clientQPS, "--kube-api-burst=" + clientBurst, "--v=1",
	}
}

func (p *plane) kwokFlags() []string {
	return []string{
		kubeconfigFlag(p.file("kwok.kubeconfig")), "--config=" + p.file("stages.yaml"),
		"--manage-all-nodes=false", "--manage-nodes-with-label-selector=type=kwok",
		"--node-lease-duration-seconds=40", "--cidr=" + podCIDR, "--node-ip=" + fakeNodeIP,
	}
}
