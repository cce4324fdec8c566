package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestConfigOfBlobs(t *testing.T) {
	t.Parallel()
	bucket := map[string]string{
		"CANDOR_S3_ENDPOINT": "https://s3.example", "CANDOR_S3_BUCKET": "docs", "CANDOR_S3_ACCESS_KEY": "key",
		"CANDOR_S3_SECRET_KEY": "hidden",
	}
	if c := read(t, nil); c.BlobsInS3 || c.S3.Bucket != "" {
		t.Errorf("by default %+v", c.S3)
	}
	c := read(t, bucket)
	if c.BlobsInS3 || c.S3.Bucket != "docs" || c.S3.Region != "us-east-1" {
		t.Errorf("a bucket to read from: %t, %+v", c.BlobsInS3, c.S3)
	}
	for _, text := range []string{fmt.Sprint(c.LogValue()), fmt.Sprintf("%+v", c), fmt.Sprint(c.S3)} {
		if strings.Contains(text, "hidden") {
			t.Errorf("the configuration prints a secret: %s", text)
		}
	}
	bucket["CANDOR_BLOBS"] = "s3"
	if c := read(t, bucket); !c.BlobsInS3 {
		t.Error("documents don't go to the bucket")
	}
	for name, value := range map[string]string{
		"CANDOR_BLOBS": "disk", "CANDOR_S3_ENDPOINT": "s3.example", "CANDOR_S3_BUCKET": "", "CANDOR_S3_ACCESS_KEY": "",
		"CANDOR_S3_SECRET_KEY": " ",
	} {
		_, err := Read(func(asked string) (string, bool) {
			if asked == name {
				return value, true
			}
			v, ok := bucket[asked]
			return v, ok
		})
		if err == nil || !strings.HasPrefix(err.Error(), name+" ") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s=%q: %v", name, value, err)
		}
	}
}
