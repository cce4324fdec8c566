package blob

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// putTimeout bounds an upload to S3, retries included.
	putTimeout = time.Minute
	// askTimeout bounds a request without a body, retries included.
	askTimeout = 15 * time.Second
	// stallTimeout is how long a download may stand still.
	stallTimeout = 30 * time.Second
	// attempts is how often the library tries a request, within a few seconds.
	attempts = 4
	// prefix is the folder of blobs in the bucket.
	prefix = "documents/"
)

// S3Config is how to reach a bucket. It prints without its secret.
type S3Config struct {
	Endpoint  string // https://host, http for a server nearby
	Bucket    string
	Region    string
	AccessKey string
	SecretKey string
}

// String hides the secret.
func (c S3Config) String() string {
	if c.Bucket == "" {
		return "none"
	}
	return strings.TrimSuffix(c.Endpoint, "/") + "/" + c.Bucket
}

// LogValue hides the secret.
func (c S3Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

var errEndpoint = errors.New(
	"must be the address of an S3 service without a bucket, such as https://s3.ap-southeast-2.amazonaws.com")

// CheckEndpoint returns an error if there can be no S3 service at that address.
func CheckEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errEndpoint
	}
	return nil
}

// S3 is a Place in a bucket of an S3 service. A blob is written by one request whose
// SHA-256 the service checks, so it is there whole or not at all. What comes in is
// first gathered in a file without a name: the sum must be known before the first
// byte is sent, and a failed request can be repeated.
type S3 struct {
	client *minio.Core
	config S3Config
	spool  string // folder of the nameless files
}

// String is the bucket's address.
func (s *S3) String() string { return s.config.String() }

// NewS3 returns a Place in a bucket, which must exist. The spool is a folder that is
// made if it is missing; it needs room for the uploads that run at a time.
func NewS3(c S3Config, spool string) (*S3, error) {
	if err := CheckEndpoint(c.Endpoint); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, fmt.Errorf("folder for uploads: %w", err)
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, errEndpoint
	}
	client, err := minio.NewCore(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""), Secure: u.Scheme == "https", Region: c.Region,
		MaxRetries: attempts,
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
			ResponseHeaderTimeout: askTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 32,
			DisableCompression: true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("S3: %w", err)
	}
	return &S3{client: client, config: c, spool: spool}, nil
}

// ErrRefused says that an S3 service refused to show the bucket: the name or the keys
// are wrong. Any other error of Check can go by itself.
var ErrRefused = errors.New("refused by S3")

// Check asks for the bucket.
func (s *S3) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	found, err := s.client.BucketExists(ctx, s.config.Bucket)
	switch {
	case err == nil && !found:
		return fmt.Errorf("%w: there is no bucket %s", ErrRefused, s.config.Bucket)
	case err != nil && answerOf(err).StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: bucket %s: the access key may not list it: %w", ErrRefused, s.config.Bucket, err)
	case err != nil:
		return fmt.Errorf("S3: %w", err)
	}
	return nil
}

// Put stores what r yields.
func (s *S3) Put(ctx context.Context, id string, r io.Reader) error {
	return s.put(ctx, id, r, minio.PutObjectOptions{})
}

// Add stores what r yields, or returns ErrExists.
func (s *S3) Add(ctx context.Context, id string, r io.Reader) error {
	var options minio.PutObjectOptions
	options.SetMatchETagExcept("*") // If-None-Match
	err := s.put(ctx, id, r, options)
	if answerOf(err).StatusCode == http.StatusPreconditionFailed {
		return ErrExists
	}
	return err
}

func (s *S3) put(ctx context.Context, id string, r io.Reader, options minio.PutObjectOptions) error {
	if !validID.MatchString(id) {
		return malformed(id)
	}
	content, err := os.CreateTemp(s.spool, "upload-")
	if err != nil {
		return storeError(err)
	}
	defer content.Close()
	if err := os.Remove(content.Name()); err != nil { // a crash leaves nothing
		return fmt.Errorf("store blob: %w", err)
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(content, hash), r)
	if err != nil {
		return storeError(err)
	}
	sum := hash.Sum(nil)
	// The sum signs the request, and is stored beside the blob.
	options.DisableContentSha256 = true // no signature of each chunk
	options.UserMetadata = map[string]string{"x-amz-checksum-sha256": base64.StdEncoding.EncodeToString(sum)}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	_, err = s.client.PutObject(ctx, s.config.Bucket, prefix+id, io.NewSectionReader(content, 0, size), size, "",
		hex.EncodeToString(sum), options)
	if err != nil {
		return unavailable("store blob in S3", err)
	}
	return nil
}

// Open returns a blob for reading, or ErrNotFound.
func (s *S3) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	if !validID.MatchString(id) {
		return nil, ErrNotFound
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stall := time.AfterFunc(askTimeout, func() { cancel(errors.New("S3 sends nothing")) })
	content, _, _, err := s.client.GetObject(ctx, s.config.Bucket, prefix+id, minio.GetObjectOptions{})
	if err != nil {
		if missing(err) {
			err = ErrNotFound
		} else {
			err = unavailable("open blob in S3", because(ctx, err))
		}
		stall.Stop()
		cancel(nil)
		return nil, err
	}
	return &download{content, ctx, cancel, stall}, nil
}

func unavailable(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
}

// answerOf is what the service answered, empty if it didn't.
func answerOf(err error) (answer minio.ErrorResponse) {
	errors.As(err, &answer)
	return answer
}

func missing(err error) bool { return answerOf(err).Code == minio.NoSuchKey }

// because returns why ctx ended, if that is why a request failed.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// download is the content of a blob. Its length is checked: a connection that ends
// early is io.ErrUnexpectedEOF.
type download struct {
	content io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request that is being read
	cancel  context.CancelCauseFunc
	stall   *time.Timer
}

// Read reads on, or returns an error if nothing comes for stallTimeout.
func (d *download) Read(p []byte) (int, error) {
	d.stall.Reset(stallTimeout)
	n, err := d.content.Read(p)
	d.stall.Stop() // a reader may take its time
	if err != nil && !errors.Is(err, io.EOF) {
		err = unavailable("read blob from S3", because(d.ctx, err))
	}
	return n, err
}

// Close ends the request.
func (d *download) Close() error {
	d.stall.Stop()
	err := d.content.Close()
	d.cancel(nil)
	return err
}

// Delete removes a blob. In a bucket with versions a former version stays.
func (s *S3) Delete(ctx context.Context, id string) error {
	if !validID.MatchString(id) {
		return malformed(id)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := s.client.RemoveObject(ctx, s.config.Bucket, prefix+id, minio.RemoveObjectOptions{}); err != nil && !missing(err) {
		return unavailable("delete blob in S3", err)
	}
	return nil
}

// List yields the ids and sizes of all blobs.
func (s *S3) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for object := range s.client.ListObjectsIter(ctx, s.config.Bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if object.Err != nil {
				yield(Info{}, unavailable("list blobs in S3", object.Err))
				return
			}
			id := strings.TrimPrefix(object.Key, prefix)
			if validID.MatchString(id) && !yield(Info{ID: id, Size: object.Size}, nil) {
				return
			}
		}
	}
}
