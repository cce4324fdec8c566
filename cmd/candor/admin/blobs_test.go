package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"candor/internal/testkit/process"
	"candor/internal/testkit/s3test"
)

// movedBlobs is what candor blobs move prints.
type movedBlobs struct {
	Moved   int `json:"moved"`
	Left    int `json:"left"`
	Differs int `json:"differs"`
}

// TestDocumentsMoveToS3AndBack moves documents while two processes run, one of
// which stores new ones in the folder and one in the bucket. All are downloaded from
// both processes at each step.
func TestDocumentsMoveToS3AndBack(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	env := process.WebEnvironment(t)
	a := process.CreateAccount(t, env)
	inFolder := env.With(bucket.Settings()...)
	inS3 := inFolder.With("CANDOR_BLOBS", "s3")
	processes := []*process.Candor{process.Serve(t, inFolder, "serve"), process.Serve(t, inS3, "serve")}

	content := map[string]string{} // by the path of the document
	for i, p := range processes {
		partner := process.NewPartner(t, p.URL, a.TestKey)
		s := partner.CreateSession("")
		customer := process.OpenForm(t, process.LinkOn(p, s))
		uploaded := "%PDF-1.7 " + strings.Repeat("page ", 10_000*(i+1))
		customer.Upload("payslip.pdf", []byte(uploaded))
		customer.Submit()
		var data struct {
			Data struct {
				Documents []struct {
					ID string `json:"id"`
				} `json:"documents"`
			} `json:"data"`
		}
		status, _, body := partner.Do(http.MethodGet, "/sessions/"+s.ID+"/data", "")
		if err := json.Unmarshal(body, &data); err != nil || len(data.Data.Documents) != 1 {
			t.Fatalf("data: %d %s", status, body)
		}
		content["/sessions/"+s.ID+"/documents/"+data.Data.Documents[0].ID] = uploaded
	}
	check := func(when string) {
		t.Helper()
		for path, want := range content {
			for _, p := range processes {
				status, _, body := process.NewPartner(t, p.URL, a.TestKey).Do(http.MethodGet, path, "")
				if status != http.StatusOK || string(body) != want {
					t.Errorf("%s: status %d, %d bytes; want %d", when, status, len(body), len(want))
				}
			}
		}
	}
	move := func(env process.Environment, want int, args ...string) {
		t.Helper()
		if did := process.RunJSON[movedBlobs](t, env, append([]string{"blobs", "move"}, args...)...); did != (movedBlobs{Moved: want}) {
			t.Errorf("blobs move %v: %+v, want %d", args, did, want)
		}
	}
	check("before")
	move(inS3, 1, "--dry-run")
	move(inS3, 1)
	check("in S3")
	move(inS3, 0)
	bucket.Kill()
	for path := range content {
		status, header, body := process.NewPartner(t, processes[1].URL, a.TestKey).Do(http.MethodGet, path, "")
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "60" || !strings.Contains(string(body),
			"service_unavailable") {
			t.Errorf("without S3: status %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
		}
	}
	if response, err := http.Get(processes[1].URL + "/readyz"); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("/readyz without S3: %v, %v", response, err)
	}
	bucket.Restart()
	check("in S3 again")
	move(inFolder, 2)
	check("in the folder")

	for _, tt := range []struct {
		env  process.Environment
		want string
	}{
		{env, "there is one place for documents"},
		{inS3.With("CANDOR_S3_SECRET_KEY", "hidden"), "refused by S3"},
		{inS3.With("CANDOR_S3_BUCKET", ""), "CANDOR_S3_BUCKET is missing"},
	} {
		r := process.Run(t, tt.env, "blobs", "move")
		if r.Code != 1 || !strings.Contains(r.Stderr, tt.want) || strings.Contains(r.Stderr, "hidden") {
			t.Errorf("exit code %d: %s; want %q", r.Code, r.Stderr, tt.want)
		}
	}
	if left := processes[1].Stdout.String() + processes[1].Stderr.String(); strings.Contains(left, bucket.Config.SecretKey) {
		t.Errorf("the log has the secret key:\n%s", left)
	}
}
