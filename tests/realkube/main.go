// Command realkube is a real Kubernetes control plane in one file: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler are linked in unchanged, and `realkube up` runs them
// as children of itself on loopback, beside KWOK, which plays the kubelets. No container runtime
// is needed. The test suite starts one such plane per cluster (tests/realkube/plane.py).
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "time/tzdata" // time zones of CronJobs, on hosts without a zone database

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// roles maps the first argument to what this process becomes. The components cannot share a
// process: their global flags, feature gates and signal handlers clash. As children a test can
// also kill one of them.
var roles = map[string]func(args []string) int{
	"up": up,
	"etcd": func(args []string) int {
		etcdmain.Main(args)
		return 0
	},
	"kube-apiserver":          func([]string) int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func([]string) int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func([]string) int { return cli.Run(scheduler.NewSchedulerCommand()) },
}

func main() {
	if len(os.Args) > 1 {
		if role, known := roles[os.Args[1]]; known {
			os.Args = os.Args[1:] // each component parses os.Args itself
			os.Exit(role(os.Args))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: realkube up --dir DIR [--kwok PATH] [--hold]")
	fmt.Fprintln(os.Stderr, "       realkube etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]")
	os.Exit(2)
}
