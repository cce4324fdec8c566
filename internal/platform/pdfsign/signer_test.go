package pdfsign_test

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smallstep/pkcs7"

	"candor/internal/platform/pdfsign"
	"candor/internal/statement"
	"candor/internal/testkit/signtest"
	"candor/views/pdf"
)

// drawn is a small statement.
func drawn(t testing.TB) []byte {
	t.Helper()
	fonts, err := pdf.LoadFonts("")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 3, 14, 15, 0, time.UTC)
	result, err := pdf.Render(pdf.Statement{SessionID: "sess_01jd2m8x7fe4rsvk0w3zq9ny5t", SubmittedAt: at,
		Answers: new(statement.Statement)}, fonts)
	if err != nil {
		t.Fatal(err)
	}
	return result.Bytes
}

func keys(t testing.TB) map[string]crypto.Signer {
	return map[string]crypto.Signer{"ECDSA": signtest.ECDSA(t), "RSA": signtest.RSA(t, 2048)}
}

// pdfsig finds the signature of each kind of key valid and of the whole file, with a
// certificate that it trusts, and no more after one changed byte of the page, the
// attached data or the signature's dictionary (D81).
func TestSign(t *testing.T) {
	t.Parallel()
	file := drawn(t)
	for kind, key := range keys(t) {
		files := signtest.New(t, key)
		at := time.Now().UTC().Truncate(time.Second)
		signed, err := files.Signer(t).Sign(file, at)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(signed, file) {
			t.Errorf("%s: the file that was signed isn't the beginning of the result", kind)
		}
		said := signtest.Verify(t, signed, files.Trusting(t))
		for _, want := range []string{"Signature is Valid.", "Certificate is Trusted.", "Total document signed",
			"Common Name: " + signtest.Subject,
			"SHA-256", "ETSI.CAdES.detached", "Signing Time: " + at.Local().Format("Jan 02 2006 15:04:05")} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: pdfsig doesn't say %q:\n%s", kind, want, said)
			}
		}
		if strings.Count(said, "Signature #") != 1 {
			t.Errorf("%s: not one signature:\n%s", kind, said)
		}
		if out, err := exec.CommandContext(t.Context(), "qpdf", "--check", written(t, "signed.pdf", signed)).
			CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
			t.Errorf("%s: qpdf --check: %v\n%s", kind, err, out)
		}
		for _, place := range []string{"/MediaBox", "/EmbeddedFile ", "/DocMDP "} {
			changed := bytes.Clone(signed)
			changed[bytes.Index(changed, []byte(place))+1] ^= 1
			if said := signtest.Verify(t, changed, ""); !strings.Contains(said, "Digest Mismatch") || strings.Contains(said, "is Valid") {
				t.Errorf("%s: with a changed byte at %s pdfsig says:\n%s", kind, place, said)
			}
		}
		checkCMS(t, kind, signed, files)
	}
}

var inRange = regexp.MustCompile(`/ByteRange \[0 (\d+) +(\d+) +(\d+) *\]`)

// checkCMS holds the CMS to PAdES baseline B-B: openssl checks it by CAdES' rules, and
// its attributes are content-type, message-digest and signing-certificate-v2 alone.
func checkCMS(t *testing.T, kind string, signed []byte, files signtest.Files) {
	t.Helper()
	var bounds [3]int
	match := inRange.FindSubmatch(signed)
	for i := range bounds {
		bounds[i], _ = strconv.Atoi(string(match[i+1])) // the expression has digits
	}
	start, end := bounds[0], bounds[1]
	if end+bounds[2] != len(signed) || signed[start] != '<' || signed[end-1] != '>' {
		t.Fatalf("%s: ByteRange %v of %d bytes", kind, bounds, len(signed))
	}
	der, err := hex.DecodeString(string(signed[start+1 : end-1]))
	if err != nil {
		t.Fatal(err)
	}
	der = der[:4+int(der[2])<<8+int(der[3])] // without what fills the place
	content := append(bytes.Clone(signed[:start]), signed[end:]...)
	verify := exec.CommandContext(t.Context(), "openssl", "cms", "-verify", "-cades", "-binary", "-inform", "DER", "-in",
		written(t, "signature.der", der),
		"-content", written(t, "content", content), "-CAfile", files.Authority, "-out", os.DevNull)
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%s: openssl: %v\n%s", kind, err, out)
	}
	cms, err := pkcs7.Parse(der)
	if err != nil {
		t.Fatal(err)
	}
	var attributes []string
	for _, a := range cms.Signers[0].AuthenticatedAttributes {
		attributes = append(attributes, a.Type.String())
	}
	if got := strings.Join(attributes, " "); got != "1.2.840.113549.1.9.3 1.2.840.113549.1.9.4 1.2.840.113549.1.9.16.2.47" ||
		len(cms.Certificates) != 2 {
		t.Errorf("%s: signed attributes %s, %d certificates", kind, got, len(cms.Certificates))
	}
}

func written(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two signatures by RSA at one time are equal, and those by ECDSA have one length.
func TestSignIsRepeatable(t *testing.T) {
	t.Parallel()
	file, at := drawn(t), time.Now()
	for kind, key := range keys(t) {
		s := signtest.New(t, key).Signer(t)
		first, err := s.Sign(file, at)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, err := s.Sign(file, at)
			if err != nil || len(again) != len(first) || kind == "RSA" && !bytes.Equal(again, first) {
				t.Fatalf("%s: another signature has %d bytes after %d, %v", kind, len(again), len(first), err)
			}
		}
	}
}

// Without a signer the file stays as it is. What isn't ours is refused: a signed
// file, too.
func TestSignOtherFiles(t *testing.T) {
	t.Parallel()
	file := drawn(t)
	var none *pdfsign.Signer
	if got, err := none.Sign(file, time.Now()); err != nil || !bytes.Equal(got, file) || none.Subject()+none.Issuer() != "" {
		t.Errorf("without a signer: %d bytes of %d, %v", len(got), len(file), err)
	}
	s := signtest.New(t, signtest.ECDSA(t)).Signer(t)
	signed, err := s.Sign(file, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string][]byte{"nothing": nil, "a text": []byte("%PDF-1.7\n"), "a signed file": signed,
		"a part": file[100:]} {
		if _, err := s.Sign(other, time.Now()); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	for kind, key := range keys(b) {
		s := signtest.New(b, key).Signer(b)
		file := drawn(b)
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Sign(file, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
