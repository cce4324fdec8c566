package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// classify returns the class of a failed attempt and a sentence for the partner. The
// sentence never has the text of err, which holds the URL, addresses and what the
// receiver sent.
func classify(err error, reached phase) (class, text string) {
	var refused *TargetError
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &refused):
		return ClassRefusedTarget, refused.Message
	case errors.As(err, &lookup):
		return ClassDNS, lookupText(lookup)
	case os.IsTimeout(err), errors.As(err, &network) && network.Timeout():
		return ClassTimeout, timeoutText(reached)
	case reached == handshaking:
		return ClassTLS, handshakeText(err)
	case reached == connected:
		return ClassProtocol, protocolText(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassConnect, "The receiver refused the connection. Nothing listens on that port."
	}
	return ClassConnect, "The receiver could not be connected to."
}

func lookupText(err *net.DNSError) string {
	if err.IsNotFound {
		return "The host name does not exist."
	}
	return "The host name could not be looked up."
}

func timeoutText(reached phase) string {
	if reached == connected {
		return "The receiver did not answer in time."
	}
	return "The receiver could not be connected to in time."
}

func handshakeText(err error) string {
	var invalid x509.CertificateInvalidError
	var otherName x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &notTLS):
		return "The receiver did not answer in TLS. Check that the port of the URL is the one for https."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "The receiver's certificate has expired or is not yet valid."
	case errors.As(err, &otherName):
		return "The receiver's certificate is for another host name."
	case errors.As(err, &unknown):
		return "The receiver's certificate is not issued by a trusted authority. Send the whole chain; self-signed certificates are not accepted."
	case errors.As(err, &verification):
		return "The receiver's certificate is not valid."
	}
	return "The TLS handshake with the receiver failed."
}

func protocolText(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) {
		return "The receiver closed the connection without an answer."
	}
	return "The receiver's answer was not valid HTTP or its headers exceeded 16 KiB."
}

func statusText(code int) string {
	if code >= 300 && code <= 399 {
		return fmt.Sprintf("The receiver answered with status %d. Redirects are not followed; set the final URL.", code)
	}
	return fmt.Sprintf("The receiver answered with status %d instead of 2xx.", code)
}
