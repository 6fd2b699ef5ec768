package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the command line of `realkube up`.
type options struct {
	dir           string        // state, credentials, kubeconfigs, logs and pids of this plane
	kwok          string        // path of the KWOK program; empty: nodes and pods stay as they are
	apiserverArgs string        // further kube-apiserver flags, blank separated
	timeout       time.Duration // how long /readyz may take
	hold          bool          // end when standard input closes, so that a plane never outlives its test run
}

// up runs one plane until it is told to stop or a component ends. It prints the path of the
// administrator's kubeconfig once the plane answers.
func up(args []string) int {
	var o options
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "directory of this plane; a second start on it goes on where the first stopped")
	flags.StringVar(&o.kwok, "kwok", "", "path of the KWOK program, which plays the kubelets of nodes labelled type=kwok")
	flags.StringVar(&o.apiserverArgs, "apiserver-args", "", "further kube-apiserver flags, blank separated")
	flags.DurationVar(&o.timeout, "timeout", 90*time.Second, "how long to wait for /readyz")
	flags.BoolVar(&o.hold, "hold", false, "stop when standard input closes")
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if o.dir == "" {
		fmt.Fprintln(os.Stderr, "realkube: --dir is required")
		return 2
	}
	// Children ask for a signal at the death of the thread that started them: stay on one thread.
	runtime.LockOSThread()
	if err := runPlane(o); err != nil {
		fmt.Fprintln(os.Stderr, "realkube:", err)
		return 1
	}
	return 0
}

func runPlane(o options) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	p, err := openPlane(dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.hold {
		var release context.CancelFunc
		ctx, release = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			release()
		}()
	}

	family := newFamily(dir)
	defer family.stop()
	if err := family.start("etcd", p.etcdFlags()); err != nil {
		return err
	}
	if err := family.start("kube-apiserver", append(p.apiserverFlags(), strings.Fields(o.apiserverArgs)...)); err != nil {
		return err
	}
	// The others would wait for the API server by themselves; on few cores everybody is up sooner
	// when they start after it.
	if err := awaitReady(ctx, p, family.ended, o.timeout); err != nil {
		return err
	}
	if err := family.start("kube-controller-manager", p.controllerFlags()); err != nil {
		return err
	}
	if err := family.start("kube-scheduler", p.schedulerFlags()); err != nil {
		return err
	}
	if o.kwok != "" {
		if err := os.WriteFile(p.file("stages.yaml"), kubeletStages(), 0o600); err != nil {
			return err
		}
		if err := family.startProgram(o.kwok, "kwok", p.kwokFlags()); err != nil {
			return err
		}
	}
	fmt.Println(p.file("admin.kubeconfig"))

	select {
	case <-ctx.Done():
		return nil
	case name := <-family.ended:
		return errors.New(name + " ended; its last words are in " + p.file(name+".log"))
	}
}
