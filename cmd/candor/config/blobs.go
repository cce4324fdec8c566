package config

import (
	"errors"

	"candor/internal/platform/blob"
)

func (c *Config) setBlobs(text string) error {
	if text != "folder" && text != "s3" {
		return errors.New("must be folder or s3")
	}
	c.BlobsInS3 = text == "s3"
	return nil
}

func (c *Config) setS3Endpoint(text string) error {
	c.S3.Endpoint = text
	return blob.CheckEndpoint(text)
}

// settleBlobs returns the errors of a bucket that is named in part.
func (c *Config) settleBlobs(invalid func(name string) bool) (errs []string) {
	variables := []struct{ name, value, what string }{
		{"CANDOR_S3_ENDPOINT", c.S3.Endpoint, "the address of the S3 service, such as https://s3.ap-southeast-2.amazonaws.com"},
		{"CANDOR_S3_BUCKET", c.S3.Bucket, "the name of a bucket, which must exist"},
		{"CANDOR_S3_ACCESS_KEY", c.S3.AccessKey, "an access key that may read, write, delete and list in the bucket"},
		{"CANDOR_S3_SECRET_KEY", c.S3.SecretKey, "the secret of CANDOR_S3_ACCESS_KEY"},
	}
	wanted := c.BlobsInS3
	for _, v := range variables {
		wanted = wanted || v.value != ""
	}
	for _, v := range variables {
		if wanted && v.value == "" && !invalid(v.name) {
			errs = append(errs, v.name+" is missing: set it to "+v.what)
		}
	}
	return errs
}
