package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is how long a child may take to end after SIGTERM.
const patience = 5 * time.Second

// family is the set of child processes of one plane. Each logs to NAME.log and leaves its pid in
// NAME.pid, both in the plane's directory.
type family struct {
	dir      string
	children []*child
	ended    chan string // names of children that ended by themselves or were killed
}

type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

func newFamily(dir string) *family {
	return &family{dir: dir, ended: make(chan string, 16)}
}

// start runs a component of this very program.
func (f *family) start(role string, flags []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return f.startProgram(self, role, append([]string{role}, flags...))
}

func (f *family) startProgram(path, name string, args []string) error {
	log, err := os.OpenFile(filepath.Join(f.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, log, log
	cmd.Env = append(os.Environ(), "HOME="+f.dir) // KWOK reads and writes ~/.kwok
	// A process group of its own keeps Ctrl-C of a terminal away; the death signal ends it even
	// when this process is killed outright.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c := &child{name: name, cmd: cmd, done: make(chan struct{})}
	f.children = append(f.children, c)
	go func() {
		_ = cmd.Wait()
		close(c.done)
		f.ended <- name
	}()
	return os.WriteFile(filepath.Join(f.dir, name+".pid"), fmt.Appendln(nil, cmd.Process.Pid), 0o600)
}

// stop ends the children, last started first, so that none loses what it depends on.
func (f *family) stop() {
	for i := len(f.children) - 1; i >= 0; i-- {
		c := f.children[i]
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(patience):
			_ = c.cmd.Process.Kill()
			<-c.done
		}
	}
}
