package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs certificates. Every key is EC P-256: RSA would take most of a plane's start-up.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// identity is a client of the API server: a certificate's common name is the user, its
// organisations are the groups, and NAME.kubeconfig is where it lands.
type identity struct {
	name   string
	user   string
	groups []string
}

var identities = []identity{
	{name: "controller-manager", user: "system:kube-controller-manager"},
	{name: "scheduler", user: "system:kube-scheduler"},
	{name: "kwok", user: "kwok", groups: []string{"system:masters"}},
	{name: "admin", user: "admin", groups: []string{"system:masters"}},
}

// writeCredentials makes everything secret that a plane needs: the cluster's authority with the
// serving certificate and one kubeconfig per identity, the front proxy's authority, and the key
// pair that signs service account tokens.
func writeCredentials(p *plane) error {
	ca, err := newAuthority("realkube")
	if err != nil {
		return err
	}
	proxyCA, err := newAuthority("realkube-front-proxy")
	if err != nil {
		return err
	}
	serving, servingKey, err := ca.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.ParseIP(loopback), net.ParseIP(serviceIP)},
	})
	if err != nil {
		return err
	}
	proxy, proxyKey, err := proxyCA.issue(clientOf("front-proxy-client", nil))
	if err != nil {
		return err
	}
	tokenKey, tokenPublicKey, err := newTokenKeys()
	if err != nil {
		return err
	}
	caKey, err := privatePEM(ca.key)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		p.pki("ca.crt"): ca.pem, p.pki("ca.key"): caKey,
		p.pki("apiserver.crt"): serving, p.pki("apiserver.key"): servingKey,
		p.pki("front-proxy-ca.crt"):     proxyCA.pem,
		p.pki("front-proxy-client.crt"): proxy, p.pki("front-proxy-client.key"): proxyKey,
		p.pki("sa.key"): tokenKey, p.pki("sa.pub"): tokenPublicKey,
	}
	for _, id := range identities {
		certificate, key, err := ca.issue(clientOf(id.user, id.groups))
		if err != nil {
			return err
		}
		files[p.file(id.name+".kubeconfig")] = kubeconfig(p.server(), ca.pem, certificate, key)
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	self := &authority{key: key}
	self.certificate = &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := self.sign(self.certificate, key)
	if err != nil {
		return nil, err
	}
	self.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	self.certificate, err = x509.ParseCertificate(der)
	return self, err
}

func clientOf(user string, groups []string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// issue signs a leaf made from template, with a new key.
func (a *authority) issue(template x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(&template, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = privatePEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // a client's clock may be behind
	template.NotAfter = time.Now().AddDate(1, 0, 0)
	return x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
}

func newTokenKeys() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	private, err = privatePEM(key)
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

func privatePEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

const kubeconfigForm = `apiVersion: v1
kind: Config
clusters:
- name: realkube
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: realkube
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: realkube
  context: {cluster: realkube, user: realkube}
current-context: realkube
`

func kubeconfig(server string, ca, certificate, key []byte) []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, kubeconfigForm, server, text(ca), text(certificate), text(key))
}
