package ministack

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// beStrict turns the server that is about to start into a strict one: by more environment.
func (s *Server) beStrict(port string) ([]string, error) {
	certificate, key, err := newCertificate()
	if err != nil {
		return nil, err
	}
	s.Certificate = filepath.Join(s.folder, "certificate.pem")
	keyFile := filepath.Join(s.folder, "key.pem")
	err = errors.Join(os.WriteFile(s.Certificate, certificate, 0o600),
		os.WriteFile(keyFile, key, 0o600))
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certificate)
	s.Endpoint = "https://localhost:" + port
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted}, DialContext: dialLocal, MaxIdleConnsPerHost: 16,
	}}
	return []string{
		"AUTH=true", "USE_SSL=1", "MINISTACK_SSL_CERT=" + s.Certificate, "MINISTACK_SSL_KEY=" + keyFile,
		// Its functions get its environment: they trust it, and they write JSON, as the template
		// says, which it does not pass on to them.
		"SSL_CERT_FILE=" + s.Certificate, "AWS_CA_BUNDLE=" + s.Certificate, "AWS_LAMBDA_LOG_FORMAT=JSON",
	}, nil
}

// Client trusts the server, and finds its APIs: their names, such as ID.execute-api.localhost, are
// known to no resolver.
func (s *Server) Client() *http.Client { return s.client }

// dialLocal takes every name for this machine's.
func dialLocal(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
}

// newCertificate is one for a day, which is its own authority, for all names that the server goes
// by.
func newCertificate() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "MiniStack"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "*.localhost", "*.execute-api.localhost",
			"*.lambda-url." + Region + ".localhost", "*.s3.localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), nil
}
