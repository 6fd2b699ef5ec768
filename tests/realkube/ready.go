package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// awaitReady polls /readyz, which anonymous callers may read under RBAC's default roles, until it
// answers 200, a component ends, or the time is up.
func awaitReady(ctx context.Context, p *plane, ended <-chan string, timeout time.Duration) error {
	ca, err := os.ReadFile(p.pki("ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		answer, ready := readyz(client, p.server())
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready after %s: %s", timeout, answer)
		case name := <-ended:
			return fmt.Errorf("%s ended before the API server was ready; see %s", name, p.file(name+".log"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func readyz(client *http.Client, server string) (answer string, ready bool) {
	response, err := client.Get(server + "/readyz")
	if err != nil {
		return err.Error(), false
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	return string(body), response.StatusCode == http.StatusOK
}
